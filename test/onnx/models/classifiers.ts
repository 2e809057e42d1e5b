/** Networks that classify images, as `torch.onnx.export` of TorchScript writes them. */
import type { FileBuilder } from '../file-builder.ts';
import { image, type ModelCase } from '../model-case.ts';
import {
  batchNorm,
  conv,
  convNorm,
  gemm,
  maxPool,
  pooledFlat,
  relu6,
  scopeOf,
  sizesOf,
  torchFile,
  view,
} from './images.ts';

const CLASSES = 5;

function classifier(
  name: string,
  opset: number,
  size: number,
  body: (f: FileBuilder, x: string) => string,
): ModelCase {
  return {
    name,
    exporter: `PyTorch, TorchScript, opset ${opset}`,
    feeds: { input: image(3, size) },
    loss: 'classes',
    targets: [3],
    classes: CLASSES,
    make: () => {
      const f = torchFile(opset);
      f.input('input', ['batch_size', 3, size, size]);
      f.output(body(f, 'input'), ['batch_size', CLASSES]);
      return f.finish();
    },
  };
}

const head = (f: FileBuilder, x: string, into: number, path = 'classifier.1'): string =>
  gemm(f, x, path, [CLASSES, into], 'output');

/** Expand, convolve each channel, project; with what came in where sizes stay. */
function inverted(
  f: FileBuilder,
  x: string,
  path: string,
  [out, into, stride]: readonly [number, number, number],
): string {
  const wide = into * 3;
  const a = relu6(f, convNorm(f, x, `${path}.conv.0`, [wide, into, 1]), `${path}.conv.0.2`);
  const deep = convNorm(f, a, `${path}.conv.1`, [wide, wide, 3], { group: wide, stride });
  const b = relu6(f, deep, `${path}.conv.1.2`);
  const c = convNorm(f, b, `${path}.conv.2`, [out, wide, 1]);
  return stride === 1 && out === into ? f.at(scopeOf(path)).op('Add', [x, c]) : c;
}

function mobileNetV2(f: FileBuilder, x: string): string {
  let y = relu6(f, convNorm(f, x, 'features.0', [6, 3, 3], { stride: 2 }), 'features.0.2');
  y = inverted(f, y, 'features.1', [6, 6, 1]);
  y = inverted(f, y, 'features.2', [8, 6, 2]);
  y = relu6(f, convNorm(f, y, 'features.3', [16, 8, 1]), 'features.3.2');
  return head(f, pooledFlat(f, y, 'pool'), 16);
}

const HARD = { alpha: { float: 1 / 6 } };

/** Channels weighted by what all positions say of them. */
function squeezed(
  f: FileBuilder,
  x: string,
  path: string,
  channels: number,
  gate: 'hard' | 'soft',
): string {
  f.at(`${scopeOf(path)}/avgpool`);
  let s = f.op('GlobalAveragePool', [x]);
  s = conv(f, s, `${path}.fc1`, [4, channels, 1]);
  s = gate === 'hard' ? f.op('Relu', [s]) : swish(f, s, `${path}.activation`);
  s = conv(f, s, `${path}.fc2`, [channels, 4, 1]);
  s = gate === 'hard' ? f.op('HardSigmoid', [s], HARD) : f.op('Sigmoid', [s]);
  return f.at(scopeOf(path)).op('Mul', [s, x]);
}

function swish(f: FileBuilder, x: string, path: string): string {
  f.at(scopeOf(path));
  return f.op('Mul', [x, f.op('Sigmoid', [x])]);
}

function mobileNetV3(f: FileBuilder, x: string): string {
  let y = convNorm(f, x, 'features.0', [6, 3, 3], { stride: 2 });
  y = f.at('features/features.0/features.0.2').op('HardSwish', [y]);
  const wide = f.op('Relu', [convNorm(f, y, 'features.1.block.0', [12, 6, 1])]);
  const deep = convNorm(f, wide, 'features.1.block.1', [12, 12, 5], { group: 12 });
  const gated = squeezed(f, f.op('HardSwish', [deep]), 'features.1.block.2', 12, 'hard');
  const narrow = convNorm(f, gated, 'features.1.block.3', [6, 12, 1]);
  y = f.at('features/features.1').op('Add', [narrow, y]);
  y = f.op('HardSwish', [convNorm(f, y, 'features.2', [12, 6, 1])]);
  y = gemm(f, pooledFlat(f, y, 'pool'), 'classifier.0', [10, 12]);
  return head(f, f.op('HardSwish', [y]), 10, 'classifier.3');
}

function fire(
  f: FileBuilder,
  x: string,
  path: string,
  [squeeze, into, out]: readonly [number, number, number],
): string {
  const s = f.op('Relu', [conv(f, x, `${path}.squeeze`, [squeeze, into, 1])]);
  const one = f.op('Relu', [conv(f, s, `${path}.expand1x1`, [out, squeeze, 1])]);
  const three = f.op('Relu', [conv(f, s, `${path}.expand3x3`, [out, squeeze, 3])]);
  return f.at(scopeOf(path)).op('Concat', [one, three], { axis: 1 });
}

function squeezeNet(f: FileBuilder, x: string): string {
  let y = f.op('Relu', [conv(f, x, 'features.0', [8, 3, 3], { stride: 2, pad: 0 })]);
  y = maxPool(f, y, 'features/features.2', [3, 2, 0], true);
  y = fire(f, y, 'features.3', [4, 8, 8]);
  y = maxPool(f, y, 'features/features.5', [3, 2, 0], true);
  y = fire(f, y, 'features.6', [4, 16, 8]);
  f.at('classifier/classifier.0');
  y = f.opset < 12 ? f.op('Dropout', [y], { ratio: { float: 0.5 } }) : y;
  y = f.op('Relu', [conv(f, y, 'classifier.1', [CLASSES, 16, 1])]);
  y = f.at('classifier/classifier.3').op('GlobalAveragePool', [y]);
  return f.at('').op('Flatten', [y], { axis: 1 }, 'output');
}

type Joined = (
  f: FileBuilder,
  x: string,
  path: string,
  sizes: readonly [number, number, number],
  stride: number,
) => string;

/** With batch normalisations, as a model in training mode is exported, or folded into the convolutions. */
const apart: Joined = (f, x, path, sizes, stride) => convNorm(f, x, path, sizes, { stride });
const folded: Joined = (f, x, path, sizes, stride) => conv(f, x, path, sizes, { stride });

function residual(
  f: FileBuilder,
  x: string,
  path: string,
  [out, into, stride]: readonly [number, number, number],
  join: Joined,
): string {
  const a = f.op('Relu', [join(f, x, `${path}.conv1`, [out, into, 3], stride)]);
  const b = join(f, a, `${path}.conv2`, [out, out, 3], 1);
  const side = out === into ? x : join(f, x, `${path}.downsample`, [out, into, 1], stride);
  f.at(scopeOf(path));
  return f.op('Relu', [f.op('Add', [b, side])]);
}

const resNet =
  (join: Joined, by: 'mean' | 'pool') =>
  (f: FileBuilder, x: string): string => {
    let y = f.op('Relu', [join(f, x, 'conv1', [6, 3, 3], 2)]);
    y = maxPool(f, y, 'maxpool', [3, 2, 1]);
    y = residual(f, y, 'layer1.0', [6, 6, 1], join);
    y = residual(f, y, 'layer2.0', [8, 6, 2], join);
    return head(f, pooledFlat(f, y, by), 8, 'fc');
  };

function denseNet(f: FileBuilder, x: string): string {
  const layer = (from: readonly string[], path: string, into: number): string => {
    f.at(scopeOf(path));
    const joined = from.length === 1 ? (from[0] ?? '') : f.op('Concat', from, { axis: 1 });
    const a = f.op('Relu', [batchNorm(f, joined, `${path}.norm1`, into)]);
    const b = conv(f, a, `${path}.conv1`, [8, into, 1], { bias: false });
    const c = f.op('Relu', [batchNorm(f, b, `${path}.norm2`, 8)]);
    return conv(f, c, `${path}.conv2`, [4, 8, 3], { bias: false });
  };
  const first = f.op('Relu', [convNorm(f, x, 'features.conv0', [6, 3, 3], { stride: 2 })]);
  const all = [first];
  for (let i = 0; i < 3; i += 1)
    all.push(layer(all, `features.denseblock1.denselayer${i + 1}`, 6 + 4 * i));
  let y = f.at('features/denseblock1').op('Concat', all, { axis: 1 });
  y = f.op('Relu', [batchNorm(f, y, 'features.transition1.norm', 18)]);
  y = conv(f, y, 'features.transition1.conv', [9, 18, 1], { bias: false });
  f.at('features/transition1/pool');
  y = f.op('AveragePool', [y], {
    kernel_shape: [2, 2],
    strides: [2, 2],
    pads: [0, 0, 0, 0],
    ceil_mode: 0,
    count_include_pad: 1,
  });
  y = f.op('Relu', [batchNorm(f, y, 'features.norm5', 9)]);
  return head(f, pooledFlat(f, y, 'pool'), 9, 'classifier');
}

function inception(f: FileBuilder, x: string): string {
  const unit = (from: string, path: string, sizes: readonly [number, number, number]): string =>
    f.op('Relu', [convNorm(f, from, path, sizes)]);
  const y = unit(x, 'conv1', [6, 3, 3]);
  const one = unit(y, 'inception3a.branch1', [4, 6, 1]);
  const three = unit(
    unit(y, 'inception3a.branch2.0', [4, 6, 1]),
    'inception3a.branch2.1',
    [6, 4, 3],
  );
  const five = unit(
    unit(y, 'inception3a.branch3.0', [3, 6, 1]),
    'inception3a.branch3.1',
    [4, 3, 5],
  );
  f.at('inception3a/branch4/branch4.0');
  const pooled = f.op('AveragePool', [y], {
    kernel_shape: [3, 3],
    strides: [1, 1],
    pads: [1, 1, 1, 1],
    count_include_pad: 1,
  });
  const last = unit(pooled, 'inception3a.branch4.1', [4, 6, 1]);
  const all = f.at('inception3a').op('Concat', [one, three, five, last], { axis: 1 });
  return head(f, pooledFlat(f, all, 'mean'), 18, 'fc');
}

function efficientNet(f: FileBuilder, x: string): string {
  let y = swish(f, convNorm(f, x, 'features.0', [6, 3, 3], { stride: 2 }), 'features.0.2');
  const wide = swish(f, convNorm(f, y, 'features.1.block.0', [12, 6, 1]), 'features.1.block.0.2');
  const deep = convNorm(f, wide, 'features.1.block.1', [12, 12, 3], { group: 12 });
  const gated = squeezed(
    f,
    swish(f, deep, 'features.1.block.1.2'),
    'features.1.block.2',
    12,
    'soft',
  );
  y = f
    .at('features/features.1')
    .op('Add', [convNorm(f, gated, 'features.1.block.3', [6, 12, 1]), y]);
  return head(f, pooledFlat(f, y, 'pool'), 6);
}

/** Half of the channels stay; then channels of both halves take turns, by sizes that are computed. */
function shuffleNet(f: FileBuilder, x: string): string {
  const y = f.op('Relu', [convNorm(f, x, 'conv1', [8, 3, 3], { stride: 2 })]);
  f.at('stage2/stage2.0');
  const [kept = '', moved = ''] =
    f.opset < 13
      ? f.ops('Split', [y], [null, null], { axis: 1, split: [4, 4] })
      : f.ops('Split', [y, f.constantInts([4, 4])], [null, null], { axis: 1 });
  let b = f.op('Relu', [convNorm(f, moved, 'stage2.0.branch2.0', [4, 4, 1])]);
  b = convNorm(f, b, 'stage2.0.branch2.3', [4, 4, 3], { group: 4 });
  b = f.op('Relu', [convNorm(f, b, 'stage2.0.branch2.5', [4, 4, 1])]);
  const all = f.at('stage2/stage2.0').op('Concat', [kept, b], { axis: 1 });
  const [batch = '', channels = '', height = '', width = ''] = sizesOf(f, all, [0, 1, 2, 3]);
  const each = f.op('Div', [channels, f.constantInts([2], [])]);
  const grouped = view(f, all, [batch, 2, each, height, width]);
  const turned = f.op('Transpose', [grouped], { perm: [0, 2, 1, 3, 4] });
  const shuffled = view(f, turned, [batch, -1, height, width]);
  return head(f, pooledFlat(f, shuffled, 'mean'), 8, 'fc');
}

function alexNet(f: FileBuilder, x: string): string {
  const norm = { size: 5, alpha: { float: 1e-4 }, beta: { float: 0.75 }, bias: { float: 2 } };
  let y = f.op('Relu', [conv(f, x, 'features.0', [8, 3, 5], { stride: 2 })]);
  y = maxPool(f, f.op('LRN', [y], norm), 'features/features.2', [3, 2, 0]);
  y = f.op('Relu', [conv(f, y, 'features.3', [8, 8, 3], { group: 2 })]);
  f.at('avgpool');
  y = f.op('AveragePool', [f.op('LRN', [y], norm)], { kernel_shape: [2, 2], strides: [1, 1] });
  f.at('');
  const flat = f.op('Reshape', [y, f.constantInts([-1, 8])]);
  y = f.at('classifier/classifier.0').op('Dropout', [flat], { ratio: { float: 0.5 } });
  y = f.op('Relu', [gemm(f, y, 'classifier.1', [12, 8])]);
  return head(f, y, 12, 'classifier.6');
}

export const CLASSIFIERS: readonly ModelCase[] = [
  classifier('MobileNetV2', 12, 16, mobileNetV2),
  classifier('MobileNetV3 with squeeze and excitation', 14, 16, mobileNetV3),
  classifier('SqueezeNet 1.1', 10, 24, squeezeNet),
  classifier('ResNet with batch normalisation', 9, 24, resNet(apart, 'pool')),
  classifier('ResNet with folded batch normalisation', 17, 24, resNet(folded, 'mean')),
  classifier('DenseNet', 12, 16, denseNet),
  classifier('GoogLeNet, an Inception block', 12, 12, inception),
  classifier('EfficientNet', 13, 16, efficientNet),
  classifier('ShuffleNetV2', 13, 16, shuffleNet),
  { ...classifier('AlexNet with LRN', 9, 12, alexNet), learningRate: 0.005 },
];
