/** Networks that make images, boxes or distances, as `torch.onnx.export` of TorchScript writes them. */
import type { FileBuilder } from '../file-builder.ts';
import { image, type ModelCase } from '../model-case.ts';
import {
  conv,
  convNorm,
  gemm,
  maxPool,
  scopeOf,
  sizeAt,
  sizesOf,
  torchFile,
  view,
} from './images.ts';

type Body = (f: FileBuilder, x: string) => string;
type Options = Partial<ModelCase> & { readonly channels?: number };

function squares(
  name: string,
  opset: number,
  size: number,
  targets: readonly number[],
  body: Body,
  { channels = 3, ...more }: Options = {},
): ModelCase {
  return {
    name,
    exporter: `PyTorch, TorchScript, opset ${opset}`,
    feeds: { input: image(channels, size, targets[0] ?? 3) },
    loss: 'squares',
    targets,
    make: () => {
      const f = torchFile(opset);
      f.input('input', ['batch', channels, size, size]);
      f.output(body(f, 'input'), ['batch', ...targets.slice(1)]);
      return f.finish();
    },
    ...more,
  };
}

/** The last node with the name of the output. */
const ended = (f: FileBuilder, op: string, inputs: readonly string[], attributes = {}): string =>
  f.at('').op(op, inputs, attributes, 'output');

function convTranspose(
  f: FileBuilder,
  x: string,
  path: string,
  [into, out, size]: readonly [number, number, number],
  more = {},
): string {
  f.at(scopeOf(path));
  const inputs = [
    x,
    f.weight(`${path}.weight`, [into, out, size, size]),
    f.weight(`${path}.bias`, [out]),
  ];
  return f.op('ConvTranspose', inputs, {
    dilations: [1, 1],
    group: 1,
    kernel_shape: [size, size],
    pads: [0, 0, 0, 0],
    strides: [2, 2],
    ...more,
  });
}

const double = (f: FileBuilder, x: string, path: string, into: number, out: number): string => {
  const a = f.op('Relu', [convNorm(f, x, `${path}.a`, [out, into, 3])]);
  return f.op('Relu', [convNorm(f, a, `${path}.b`, [out, out, 3])]);
};

/** Twice as high and wide; to the size of another value, which TorchScript computes, or by a factor. */
function resized(
  f: FileBuilder,
  x: string,
  like: string | null,
  mode: 'nearest' | 'linear',
): string {
  f.at('up');
  const attributes = {
    coordinate_transformation_mode: mode === 'linear' ? 'align_corners' : 'asymmetric',
    cubic_coeff_a: { float: -0.75 },
    mode,
    nearest_mode: 'floor',
  };
  if (like === null) {
    const scales = f.floats('onnx::Resize_scales', [1, 1, 2, 2], [4]);
    return f.op('Resize', [x, '', scales], attributes);
  }
  const [height = '', width = ''] = sizesOf(f, like, [2, 3]);
  const wanted = [height, width].map((size) => f.op('Unsqueeze', [size, f.constantInts([0])]));
  const size = f.op('Concat', wanted, { axis: 0 });
  const [zero, two] = [f.constantInts([0]), f.constantInts([2])];
  const kept = f.op('Slice', [f.op('Shape', [x]), zero, two, zero]);
  const sizes = f.op('Concat', [kept, f.op('Cast', [size], { to: 7 })], { axis: 0 });
  return f.op('Resize', [x, '', '', sizes], attributes);
}

const uNet =
  (up: (f: FileBuilder, x: string, like: string) => string): Body =>
  (f, x) => {
    const first = double(f, x, 'down1', 3, 4);
    const second = double(f, maxPool(f, first, 'pool1', [2, 2, 0]), 'down2', 4, 8);
    const joined = f.at('up1').op('Concat', [first, up(f, second, first)], { axis: 1 });
    const last = double(f, joined, 'up1', 12, 4);
    return ended(f, 'Sigmoid', [conv(f, last, 'outc', [1, 4, 1])]);
  };

/** Boxes of two anchors at two scales: centres on a grid, sizes by anchors, as YOLOv5 computes them. */
function yolo(f: FileBuilder, x: string): string {
  const silu = (y: string): string => f.op('Mul', [y, f.op('Sigmoid', [y])]);
  const wide = silu(conv(f, x, 'model.0.conv', [6, 3, 3], { stride: 2 }));
  const deep = silu(conv(f, wide, 'model.1.conv', [8, 6, 3], { stride: 2 }));
  const up = f.at('model.2').op('Concat', [resized(f, deep, null, 'nearest'), wide], { axis: 1 });
  const near = silu(conv(f, up, 'model.3.conv', [6, 14, 1]));
  const all = [detected(f, near, 'model.4.m.0', [6, 8]), detected(f, deep, 'model.4.m.1', [8, 4])];
  return ended(f, 'Concat', all, { axis: 1 });
}

const ANCHORS = 2;
const FIELDS = 7;

function detected(
  f: FileBuilder,
  x: string,
  path: string,
  [channels, size]: readonly [number, number],
): string {
  const made = conv(f, x, path, [ANCHORS * FIELDS, channels, 1]);
  f.at('model.4');
  const [batch = '', height = '', width = ''] = sizesOf(f, made, [0, 2, 3]);
  const fields = view(f, made, [batch, ANCHORS, FIELDS, height, width]);
  const s = f.op('Sigmoid', [f.op('Transpose', [fields], { perm: [0, 1, 3, 4, 2] })]);
  const cut = (from: number, to: number): string =>
    f.op('Slice', [
      s,
      f.constantInts([from]),
      f.constantInts([to]),
      f.constantInts([4]),
      f.constantInts([1]),
    ]);
  const grid = Array.from({ length: ANCHORS * size * size * 2 }, (_, i) =>
    i % 2 === 0 ? Math.floor(i / 2) % size : Math.floor(i / 2 / size) % size,
  );
  const places = f.floats(`${path}.grid`, grid, [1, ANCHORS, size, size, 2], { isNode: true });
  const two = f.constantFloat(2);
  const half = f.op('Sub', [f.op('Mul', [cut(0, 2), two]), f.constantFloat(0.5)]);
  const centre = f.op('Mul', [f.op('Add', [half, places]), f.constantFloat(1 / size)]);
  const grown = f.op('Pow', [f.op('Mul', [cut(2, 4), two]), f.constantFloat(2)]);
  const anchors = f.floats(`${path}.anchors`, [0.4, 0.6, 0.8, 0.5], [1, ANCHORS, 1, 1, 2], {
    isNode: true,
  });
  const extent = f.op('Mul', [grown, anchors]);
  const all = f.op('Concat', [centre, extent, cut(4, FIELDS)], { axis: -1 });
  return view(f, all, [batch, -1, FIELDS]);
}

function superResolution(f: FileBuilder, x: string): string {
  const a = f.op('Relu', [conv(f, x, 'conv1', [8, 1, 5])]);
  const b = f.op('Relu', [conv(f, a, 'conv2', [6, 8, 3])]);
  const c = conv(f, b, 'conv3', [4, 6, 3]);
  return ended(f, 'DepthToSpace', [c], { blocksize: 2, mode: 'CRD' });
}

function autoencoder(f: FileBuilder, x: string): string {
  const a = f.op('Relu', [conv(f, x, 'encoder.0', [6, 3, 3], { stride: 2 })]);
  const b = f.op('Relu', [conv(f, a, 'encoder.2', [4, 6, 3], { stride: 2 })]);
  const c = f.op('Relu', [
    convTranspose(f, b, 'decoder.0', [4, 6, 3], { pads: [1, 1, 1, 1], output_padding: [1, 1] }),
  ]);
  return ended(f, 'Sigmoid', [convTranspose(f, c, 'decoder.2', [6, 3, 2])]);
}

/** `mu + eps * exp(0.5 * logvar)`. */
function vae(f: FileBuilder, x: string, noise: (like: string) => string): string {
  const flat = f.at('').op('Flatten', [x], { axis: 1 });
  const hidden = f.op('Relu', [gemm(f, flat, 'fc1', [12, 64])]);
  const mean = gemm(f, hidden, 'fc21', [4, 12], 'mu');
  const variance = gemm(f, hidden, 'fc22', [4, 12], 'logvar');
  f.at('');
  const deviation = f.op('Exp', [f.op('Mul', [variance, f.constantFloat(0.5)])]);
  const drawn = f.op('Add', [mean, f.op('Mul', [noise(deviation), deviation])]);
  const back = f.op('Relu', [gemm(f, drawn, 'fc3', [12, 4])]);
  return ended(f, 'Sigmoid', [gemm(f, back, 'fc4', [64, 12])]);
}

function vaeCase(name: string, isGiven: boolean, more: Options): ModelCase {
  const made = squares(name, 13, 8, [3, 64], () => '', { channels: 1, ...more });
  return {
    ...made,
    feeds: isGiven ? { ...made.feeds, eps: { type: 'float32', shape: [3, 4] } } : made.feeds,
    make: () => {
      const f = torchFile(13);
      f.input('input', ['batch', 1, 8, 8]);
      if (isGiven) f.input('eps', ['batch', 4]);
      const noise = (like: string): string =>
        isGiven ? 'eps' : f.op('RandomNormalLike', [like], { dtype: 1 });
      f.output(vae(f, 'input', noise), ['batch', 64]);
      f.output('mu', ['batch', 4]);
      f.output('logvar', ['batch', 4]);
      return f.finish();
    },
  };
}

function instanceNorm(f: FileBuilder, x: string, path: string, channels: number): string {
  const inputs = [
    x,
    f.weight(`${path}.weight`, [channels], { shift: 1 }),
    f.weight(`${path}.bias`, [channels]),
  ];
  return f.at(scopeOf(path)).op('InstanceNormalization', inputs, { epsilon: { float: 1e-5 } });
}

/** `fast_neural_style` of PyTorch's examples. */
function style(f: FileBuilder, x: string): string {
  const padded = (
    y: string,
    path: string,
    sizes: readonly [number, number, number],
    stride = 1,
  ): string => {
    const edge = Math.floor(sizes[2] / 2);
    const pads = [0, 0, edge, edge, 0, 0, edge, edge];
    f.at(scopeOf(`${path}.reflection_pad`));
    const wide = f.op('Pad', [y], { mode: 'reflect', pads });
    return conv(f, wide, `${path}.conv2d`, sizes, { stride, pad: 0 });
  };
  const prelu = (y: string, path: string, channels: number): string =>
    f.at(path).op('PRelu', [y, f.weight(`${path}.weight`, [channels, 1, 1], { shift: 0.25 })]);
  const a = prelu(instanceNorm(f, padded(x, 'conv1', [6, 3, 3]), 'in1', 6), 'act1', 6);
  const b = prelu(instanceNorm(f, padded(a, 'conv2', [6, 6, 3], 2), 'in2', 6), 'act2', 6);
  f.at('deconv');
  const scales = f.floats('scales', [1, 1, 2, 2], [4], { isNode: true });
  const up = f.op('Upsample', [b, scales], { mode: 'nearest' });
  const last = padded(up, 'deconv', [3, 6, 3]);
  return ended(f, 'Tanh', [last]);
}

/** `nn.GroupNorm` in operator sets that have none: groups are instances of `[batch, groups, -1]`. */
function groupNorm(
  f: FileBuilder,
  x: string,
  path: string,
  [channels, groups]: readonly [number, number],
): string {
  f.at(scopeOf(path));
  const folded = f.op('Reshape', [x, f.constantInts([0, groups, -1])]);
  const ones = f.floats(`${path}.ones`, Array<number>(groups).fill(1), [groups], { isNode: true });
  const zeros = f.floats(`${path}.zeros`, Array<number>(groups).fill(0), [groups], {
    isNode: true,
  });
  const normal = f.op('InstanceNormalization', [folded, ones, zeros], { epsilon: { float: 1e-5 } });
  const back = f.op('Reshape', [normal, f.op('Shape', [x])]);
  const scaled = f.op('Mul', [back, f.weight(`${path}.weight`, [channels, 1, 1], { shift: 1 })]);
  return f.op('Add', [scaled, f.weight(`${path}.bias`, [channels, 1, 1])]);
}

function denoiser(f: FileBuilder, x: string): string {
  const a = f.op('Relu', [groupNorm(f, conv(f, x, 'conv1', [8, 3, 3]), 'norm1', [8, 4])]);
  const b = f.op('Relu', [groupNorm(f, conv(f, a, 'conv2', [8, 8, 3]), 'norm2', [8, 2])]);
  return ended(f, 'Add', [conv(f, b, 'conv3', [3, 8, 3]), x]);
}

/** Weights that see only what lies before a pixel: a mask is multiplied into them at every run. */
function pixelCnn(f: FileBuilder, x: string): string {
  const masked = (
    y: string,
    path: string,
    [out, into]: readonly [number, number],
    centre: number,
  ): string => {
    f.at(path);
    const mask = f.floats(`${path}.mask`, [1, 1, 1, 1, centre, 0, 0, 0, 0], [1, 1, 3, 3], {
      isNode: true,
    });
    const weight = f.op('Mul', [f.weight(`${path}.weight`, [out, into, 3, 3]), mask]);
    const inputs = [y, weight, f.weight(`${path}.bias`, [out])];
    return f.op('Conv', inputs, {
      kernel_shape: [3, 3],
      pads: [1, 1, 1, 1],
      strides: [1, 1],
      dilations: [1, 1],
      group: 1,
    });
  };
  const a = f.op('Relu', [masked(x, 'a', [8, 1], 0)]);
  const b = f.op('Relu', [masked(a, 'b', [8, 8], 1)]);
  return ended(f, 'Sigmoid', [conv(f, b, 'out', [1, 8, 1])]);
}

/** Both images go through the same weights; the distance of what comes out. */
function siamese(): Uint8Array<ArrayBuffer> {
  const f = torchFile(13);
  const arm = (x: string): string => {
    f.at('embedding');
    const a = f.op('Relu', [conv(f, x, 'conv1', [6, 1, 3], { stride: 2 })]);
    f.at('embedding');
    return gemm(f, f.op('Flatten', [a], { axis: 1 }), 'fc', [8, 96]);
  };
  const [left, right] = [
    arm(f.input('x1', ['batch', 1, 8, 8])),
    arm(f.input('x2', ['batch', 1, 8, 8])),
  ];
  f.at('');
  const apart = f.op('Add', [f.op('Sub', [left, right]), f.constantFloat(1e-6)]);
  f.output(ended(f, 'ReduceL2', [apart], { axes: [1], keepdims: 0 }), ['batch']);
  return f.finish();
}

/** A dilated convolution of sequences, with padding on the left only. */
function tcn(): Uint8Array<ArrayBuffer> {
  const f = torchFile(11);
  let y = f.input('input', ['batch', 4, 24]);
  for (const [level, dilation] of [1, 2, 4].entries()) {
    const path = `network.${level}`;
    f.at(scopeOf(path));
    const edge = 2 * dilation;
    const pads = f.op('Cast', [f.constantInts([0, 0, edge, 0, 0, 0])], { to: 7 });
    const wide = f.op('Pad', [y, pads, f.constantFloat(0)], { mode: 'constant' });
    const a = f.op('Relu', [
      conv(f, wide, `${path}.conv1`, [6, level === 0 ? 4 : 6, 3], { dims: 1, pad: 0, dilation }),
    ]);
    const side = level === 0 ? conv(f, y, `${path}.downsample`, [6, 4, 1], { dims: 1 }) : y;
    y = f.at(scopeOf(path)).op('Relu', [f.op('Add', [a, side])]);
  }
  f.at('');
  const last = f.op('Gather', [y, f.constantInts([-1], [])], { axis: 2 });
  f.output(gemm(f, last, 'linear', [5, 6], 'output'), ['batch', 5]);
  return f.finish();
}

/** One size of `like` decides; `sizeAt` reads it. */
const bilinear = (f: FileBuilder, x: string, like: string): string => resized(f, x, like, 'linear');

/** A feature pyramid whose upsampling has the batch of the input in its sizes. */
function pyramid(f: FileBuilder, x: string): string {
  const low = f.op('Relu', [conv(f, x, 'backbone.a', [6, 3, 3])]);
  const high = f.op('Relu', [conv(f, low, 'backbone.b', [6, 6, 3], { stride: 2 })]);
  const top = resized(f, conv(f, high, 'fpn.top', [4, 6, 1]), null, 'nearest');
  const sum = f.at('fpn').op('Add', [top, conv(f, low, 'fpn.side', [4, 6, 1])]);
  const batch = sizeAt(f, sum, 0);
  return ended(f, 'Identity', [view(f, conv(f, sum, 'fpn.out', [2, 4, 3]), [batch, 2, -1])]);
}

const PAIR = { x1: image(1, 8), x2: image(1, 8) };

export const IMAGE_MODELS: readonly ModelCase[] = [
  squares(
    'U-Net with ConvTranspose',
    12,
    16,
    [2, 1, 16, 16],
    uNet((f, x) => convTranspose(f, x, 'up1.up', [8, 8, 2])),
  ),
  squares('U-Net with Resize to a computed size', 13, 16, [2, 1, 16, 16], uNet(bilinear)),
  squares('YOLO head of two scales', 13, 16, [2, 160, FIELDS], yolo),
  squares('feature pyramid', 13, 8, [3, 2, 64], pyramid),
  squares('super-resolution with DepthToSpace', 12, 8, [3, 1, 16, 16], superResolution, {
    channels: 1,
  }),
  squares('autoencoder with ConvTranspose', 11, 16, [3, 3, 16, 16], autoencoder),
  vaeCase('VAE with noise as an input', true, {}),
  vaeCase('VAE that draws its noise', false, {
    refused: { code: 'unsupported', message: /RandomNormalLike .*noise.* input/s },
  }),
  squares('style transfer', 9, 12, [2, 3, 12, 12], style),
  squares('GroupNorm as InstanceNormalization', 13, 8, [3, 3, 8, 8], denoiser),
  squares('PixelCNN with masked weights', 12, 8, [3, 1, 8, 8], pixelCnn, { channels: 1 }),
  {
    name: 'siamese network',
    exporter: 'PyTorch, TorchScript, opset 13',
    feeds: PAIR,
    loss: 'squares',
    targets: [3],
    make: siamese,
  },
  {
    name: 'temporal convolutions with Pad and dilations',
    exporter: 'PyTorch, TorchScript, opset 11',
    feeds: { input: { type: 'float32', shape: [3, 4, 24] } },
    loss: 'classes',
    targets: [3],
    classes: 5,
    make: tcn,
  },
];
