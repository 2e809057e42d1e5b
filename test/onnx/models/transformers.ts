/** Transformers as `torch.onnx.export` writes them: of TorchScript with sizes that are computed, of Dynamo with constants. */
import { DYNAMO, FileBuilder } from '../file-builder.ts';
import { image, tokens, type ModelCase } from '../model-case.ts';
import { conv, gemm, scopeOf, sizeAt, sizesOf, torchFile, view } from './images.ts';

const WIDTH = 8;
const HEADS = 2;
const WORDS = 11;
const LENGTH = 6;

/** `x @ W.T + b` of three dimensions: TorchScript turns the weight round when it folds constants. */
export function linear(
  f: FileBuilder,
  x: string,
  path: string,
  [out, into]: readonly [number, number],
  bias = true,
): string {
  f.at(scopeOf(path));
  const product = f.op('MatMul', [x, f.weight(`onnx::MatMul_${path}`, [into, out])]);
  return bias ? f.op('Add', [f.weight(`${path}.bias`, [out]), product]) : product;
}

/** LayerNorm before operator set 17. */
function primitiveNorm(f: FileBuilder, x: string, path: string, width: number): string {
  f.at(scopeOf(path));
  const mean = f.op('ReduceMean', [x], { axes: [-1], keepdims: 1 });
  const from = f.op('Sub', [x, mean]);
  const squared = f.op('Pow', [from, f.constantFloat(2)]);
  const variance = f.op('ReduceMean', [squared], { axes: [-1], keepdims: 1 });
  const deviation = f.op('Sqrt', [f.op('Add', [variance, f.constantFloat(1e-5)])]);
  const normal = f.op('Div', [from, deviation]);
  const scaled = f.op('Mul', [normal, f.weight(`${path}.weight`, [width], { shift: 1 })]);
  return f.op('Add', [scaled, f.weight(`${path}.bias`, [width])]);
}

function layerNorm(f: FileBuilder, x: string, path: string, width: number): string {
  const inputs = [
    x,
    f.weight(`${path}.weight`, [width], { shift: 1 }),
    f.weight(`${path}.bias`, [width]),
  ];
  return f
    .at(scopeOf(path))
    .op('LayerNormalization', inputs, { axis: -1, epsilon: { float: 1e-5 } });
}

/** GELU by the error function, as TorchScript decomposes it. */
function gelu(f: FileBuilder, x: string, path: string): string {
  f.at(scopeOf(path));
  const erf = f.op('Erf', [f.op('Div', [x, f.constantFloat(Math.SQRT2)])]);
  const product = f.op('Mul', [x, f.op('Add', [erf, f.constantFloat(1)])]);
  return f.op('Mul', [product, f.constantFloat(0.5)]);
}

/** GELU of GPT-2: `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`. */
function geluNew(f: FileBuilder, x: string, path: string): string {
  f.at(scopeOf(path));
  const cube = f.op('Mul', [f.op('Pow', [x, f.constantFloat(3)]), f.constantFloat(0.044715)]);
  const inner = f.op('Mul', [f.op('Add', [x, cube]), f.constantFloat(Math.sqrt(2 / Math.PI))]);
  const half = f.op('Mul', [x, f.constantFloat(0.5)]);
  return f.op('Mul', [half, f.op('Add', [f.op('Tanh', [inner]), f.constantFloat(1)])]);
}

/** `[batch, length, width]` to `[batch, heads, length, width / heads]`. */
function heads(f: FileBuilder, x: string, perm: readonly number[] = [0, 2, 1, 3]): string {
  const [batch = '', length = ''] = sizesOf(f, x, [0, 1]);
  return f.op('Transpose', [view(f, x, [batch, length, HEADS, WIDTH / HEADS])], { perm });
}

function joinedHeads(f: FileBuilder, x: string): string {
  const turned = f.op('Transpose', [x], { perm: [0, 2, 1, 3] });
  const [batch = '', length = ''] = sizesOf(f, turned, [0, 1]);
  return view(f, turned, [batch, length, WIDTH]);
}

/** Attention whose scale and shapes are computed; `masked` changes the scores. */
function attention(
  f: FileBuilder,
  x: string,
  path: string,
  masked: (scores: string) => string = (s) => s,
): string {
  const [q, k, v] = ['query', 'key', 'value'].map((name) =>
    linear(f, x, `${path}.${name}`, [WIDTH, WIDTH]),
  );
  f.at(scopeOf(path));
  const [queries, keys, values] = [
    heads(f, q ?? ''),
    heads(f, k ?? '', [0, 2, 3, 1]),
    heads(f, v ?? ''),
  ];
  const scores = f.op('MatMul', [queries, keys]);
  const scale = f.op('Sqrt', [f.op('Cast', [sizeAt(f, queries, 3)], { to: 1 })]);
  const p = f.op('Softmax', [masked(f.op('Div', [scores, scale]))], { axis: -1 });
  return linear(f, joinedHeads(f, f.op('MatMul', [p, values])), `${path}.out`, [WIDTH, WIDTH]);
}

type Norm = typeof layerNorm;
type Gelu = typeof gelu;

function block(
  f: FileBuilder,
  x: string,
  path: string,
  attend: (y: string) => string,
  [norm, act]: readonly [Norm, Gelu],
): string {
  const a = attend(norm(f, x, `${path}.ln_1`, WIDTH));
  const b = f.at(scopeOf(path)).op('Add', [x, a]);
  const wide = act(
    f,
    linear(f, norm(f, b, `${path}.ln_2`, WIDTH), `${path}.mlp.0`, [16, WIDTH]),
    `${path}.mlp.1`,
  );
  const c = linear(f, wide, `${path}.mlp.2`, [WIDTH, 16]);
  return f.at(scopeOf(path)).op('Add', [b, c]);
}

/** The class token is repeated for each image, by a size that is computed; its last value is classified. */
function vit(f: FileBuilder, x: string): string {
  const patches = conv(f, x, 'conv_proj', [WIDTH, 3, 4], { stride: 4, pad: 0 });
  f.at('');
  const batch = sizeAt(f, patches, 0);
  const rows = f.op('Transpose', [view(f, patches, [batch, WIDTH, 9])], { perm: [0, 2, 1] });
  const asked = f.op(
    'Concat',
    [f.op('Unsqueeze', [batch, f.constantInts([0])]), f.constantInts([-1]), f.constantInts([-1])],
    { axis: 0 },
  );
  const ones = f.opWithTensor('ConstantOfShape', [f.constantInts([3])], 1, 'int64');
  const minus = f.op('Mul', [ones, f.constantInts([-1], [])]);
  const shape = f.op('Where', [f.op('Equal', [asked, minus]), ones, asked]);
  const token = f.op('Expand', [f.weight('class_token', [1, 1, WIDTH], { scale: 0.5 }), shape]);
  const all = f.op('Concat', [token, rows], { axis: 1 });
  let y = f.op('Add', [all, f.weight('encoder.pos_embedding', [1, 10, WIDTH], { scale: 0.5 })]);
  const path = 'encoder.layers.0';
  y = block(f, y, path, (z) => attention(f, z, `${path}.self_attention`), [layerNorm, gelu]);
  y = layerNorm(f, y, 'encoder.ln', WIDTH);
  const first = f.at('').op('Gather', [y, f.constantInts([0], [])], { axis: 1 });
  return gemm(f, first, 'heads.head', [5, WIDTH], 'output');
}

/** Scores of what comes later are replaced: the triangle is cut from a constant by sizes that are computed. */
function causal(f: FileBuilder, scores: string, path: string): string {
  f.at(scopeOf(path));
  const size = f.op('Unsqueeze', [sizeAt(f, scores, 3), f.constantInts([0])]);
  const zero = f.constantInts([0]);
  const triangle = Array.from({ length: 64 }, (_, i) => Number(i % 8 <= Math.floor(i / 8)));
  const bias = f.bools(`${path}.bias_mask`, triangle, [1, 1, 8, 8]);
  const rows = f.op('Slice', [bias, zero, size, f.constantInts([2]), f.constantInts([1])]);
  const cut = f.op('Slice', [rows, zero, size, f.constantInts([3]), f.constantInts([1])]);
  return f.op('Where', [cut, scores, f.constantFloat(-1e4)]);
}

/** A mask made by Trilu of ones. */
function trilu(f: FileBuilder, scores: string): string {
  const sizes = sizesOf(f, scores, [2, 3]).map((size) =>
    f.op('Unsqueeze', [size, f.constantInts([0])]),
  );
  const shape = f.op('Concat', sizes, { axis: 0 });
  const ones = f.opWithTensor('ConstantOfShape', [shape], 1, 'float32');
  const kept = f.op('Cast', [f.op('Trilu', [ones], { upper: 0 })], { to: 9 });
  return f.op('Where', [kept, scores, f.constantFloat(-3.4e38)]);
}

/** Word and position embeddings: positions are counted up to the length of the input, or their table is cut to it. */
function embedded(f: FileBuilder, isCut: boolean): string {
  const words = f
    .at('transformer/wte')
    .op('Gather', [f.weight('wte.weight', [WORDS, WIDTH], { scale: 1 }), 'input_ids']);
  f.at('transformer');
  const length = sizeAt(f, 'input_ids', 1);
  if (isCut) {
    const all = f.weight('wpe', [1, 8, WIDTH], { scale: 0.5 });
    const [zero, one] = [f.constantInts([0]), f.constantInts([1])];
    const end = f.op('Unsqueeze', [length, f.constantInts([0])]);
    return f.op('Add', [words, f.op('Slice', [all, zero, end, one, one])]);
  }
  const range = f.op('Range', [f.constantInts([0], []), length, f.constantInts([1], [])]);
  const places = f.op('Unsqueeze', [range, f.constantInts([0])]);
  const table = f.weight('wpe.weight', [8, WIDTH], { scale: 0.5 });
  return f.op('Add', [words, f.at('transformer/wpe').op('Gather', [table, places])]);
}

function gpt(
  opset: number,
  mask: typeof causal,
  parts: readonly [Norm, Gelu],
): Uint8Array<ArrayBuffer> {
  const f = torchFile(opset);
  f.input('input_ids', ['batch', 'sequence'], 'int64');
  let y = embedded(f, mask === trilu);
  for (const path of ['transformer.h.0', 'transformer.h.1'])
    y = block(
      f,
      y,
      path,
      (z) => attention(f, z, `${path}.attn`, (s) => mask(f, s, `${path}.attn`)),
      parts,
    );
  y = parts[0](f, y, 'transformer.ln_f', WIDTH);
  const head = f.weight('onnx::MatMul_lm_head', [WIDTH, WORDS]);
  f.output(f.at('lm_head').op('MatMul', [y, head], {}, 'logits'), ['batch', 'sequence', WORDS]);
  return f.finish();
}

/** Position ids are sliced from a constant; the mask of the input is made large negative numbers. */
function bert(): Uint8Array<ArrayBuffer> {
  const f = torchFile(13);
  f.input('input_ids', ['batch', 'sequence'], 'int64');
  f.input('attention_mask', ['batch', 'sequence'], 'int64');
  f.at('embeddings');
  const length = f.op('Unsqueeze', [sizeAt(f, 'input_ids', 1), f.constantInts([0])]);
  const ids = f.ints('embeddings.position_ids', [0, 1, 2, 3, 4, 5, 6, 7], [1, 8]);
  const cut = f.op('Slice', [
    ids,
    f.constantInts([0]),
    length,
    f.constantInts([1]),
    f.constantInts([1]),
  ]);
  const words = f.op('Gather', [
    f.weight('embeddings.word_embeddings.weight', [WORDS, WIDTH], { scale: 1 }),
    'input_ids',
  ]);
  const places = f.op('Gather', [
    f.weight('embeddings.position_embeddings.weight', [8, WIDTH], { scale: 0.5 }),
    cut,
  ]);
  let y = primitiveNorm(f, f.op('Add', [words, places]), 'embeddings.LayerNorm', WIDTH);
  f.at('');
  const wide = f.op('Unsqueeze', [
    f.op('Unsqueeze', ['attention_mask', f.constantInts([1])]),
    f.constantInts([2]),
  ]);
  const left = f.op('Sub', [f.constantFloat(1), f.op('Cast', [wide], { to: 1 })]);
  const mask = f.op('Mul', [left, f.constantFloat(-10_000)]);
  const path = 'encoder.layer.0';
  const attended = attention(f, y, `${path}.attention`, (s) => f.op('Add', [s, mask]));
  y = primitiveNorm(f, f.op('Add', [attended, y]), `${path}.attention.output.LayerNorm`, WIDTH);
  const inner = gelu(f, linear(f, y, `${path}.intermediate`, [16, WIDTH]), `${path}.act`);
  y = primitiveNorm(
    f,
    f.op('Add', [linear(f, inner, `${path}.output`, [WIDTH, 16]), y]),
    `${path}.output.LayerNorm`,
    WIDTH,
  );
  const first = f.at('pooler').op('Gather', [y, f.constantInts([0], [])], { axis: 1 });
  const pooled = f.op('Tanh', [gemm(f, first, 'pooler.dense', [WIDTH, WIDTH])]);
  f.output(gemm(f, pooled, 'classifier', [3, WIDTH], 'logits'), ['batch', 3]);
  return f.finish();
}

/** Norms without a mean, no biases, no scale, and a bias of positions from a table. */
function t5(): Uint8Array<ArrayBuffer> {
  const f = torchFile(12);
  f.input('input_ids', ['batch', LENGTH], 'int64');
  const rms = (x: string, path: string): string => {
    f.at(scopeOf(path));
    const mean = f.op('ReduceMean', [f.op('Pow', [x, f.constantFloat(2)])], {
      axes: [-1],
      keepdims: 1,
    });
    const root = f.op('Sqrt', [f.op('Add', [mean, f.constantFloat(1e-6)])]);
    return f.op('Mul', [f.weight(`${path}.weight`, [WIDTH], { shift: 1 }), f.op('Div', [x, root])]);
  };
  f.at('shared');
  const x = f.op('Gather', [f.weight('shared.weight', [WORDS, WIDTH], { scale: 1 }), 'input_ids']);
  const path = 'encoder.block.0.layer.0';
  const normal = rms(x, `${path}.layer_norm`);
  const [q = '', k = '', v = ''] = ['q', 'k', 'v'].map((name) =>
    linear(f, normal, `${path}.${name}`, [WIDTH, WIDTH], false),
  );
  f.at(scopeOf(path));
  const scores = f.op('MatMul', [heads(f, q), heads(f, k, [0, 2, 3, 1])]);
  const buckets = Array.from({ length: LENGTH ** 2 }, (_, i) =>
    Math.abs((i % LENGTH) - Math.floor(i / LENGTH)),
  );
  const table = f.weight(`${path}.relative_attention_bias.weight`, [LENGTH, HEADS], { scale: 0.5 });
  const bias = f.op('Gather', [table, f.constantInts(buckets, [LENGTH, LENGTH])]);
  const turned = f.op('Unsqueeze', [f.op('Transpose', [bias], { perm: [2, 0, 1] })], { axes: [0] });
  const p = f.op('Softmax', [f.op('Add', [scores, turned])], { axis: 3 });
  const attended = linear(
    f,
    joinedHeads(f, f.op('MatMul', [p, heads(f, v)])),
    `${path}.o`,
    [WIDTH, WIDTH],
    false,
  );
  const y = f.op('Add', [x, attended]);
  const dense = 'encoder.block.0.layer.1';
  const wide = f.op('Relu', [
    linear(f, rms(y, `${dense}.layer_norm`), `${dense}.wi`, [16, WIDTH], false),
  ]);
  const z = f.op('Add', [y, linear(f, wide, `${dense}.wo`, [WIDTH, 16], false)]);
  f.at('lm_head');
  f.output(
    f.op(
      'MatMul',
      [rms(z, 'encoder.final_layer_norm'), f.weight('lm_head.weight', [WIDTH, WORDS])],
      {},
      'logits',
    ),
    ['batch', LENGTH, WORDS],
  );
  return f.finish();
}

/** `torch.einsum` for both products. */
function einsum(): Uint8Array<ArrayBuffer> {
  const f = torchFile(12);
  f.input('input', ['batch', 'time', WIDTH]);
  const [q, k, v] = ['q', 'k', 'v'].map((name) => {
    const made = linear(f, 'input', `to_${name}`, [WIDTH, WIDTH], false);
    return view(f, made, [sizeAt(f, made, 0), sizeAt(f, made, 1), HEADS, WIDTH / HEADS]);
  });
  f.at('');
  const scores = f.op('Einsum', [q ?? '', k ?? ''], { equation: 'bihd,bjhd->bhij' });
  const p = f.op('Softmax', [f.op('Mul', [scores, f.constantFloat(0.5)])], { axis: -1 });
  const y = f.op('Einsum', [p, v ?? ''], { equation: 'bhij,bjhd->bihd' });
  const joined = view(f, y, [sizeAt(f, y, 0), sizeAt(f, y, 1), -1]);
  f.output(f.op('Identity', [linear(f, joined, 'to_out', [WIDTH, WIDTH])], {}, 'output'), [
    'batch',
    'time',
    WIDTH,
  ]);
  return f.finish();
}

const dynamoFile = (opset: number): FileBuilder =>
  new FileBuilder({ opset, style: DYNAMO, producer: 'pytorch', irVersion: 10 });

/** Shapes are initializers; only the batch is computed, as `-1`. */
function dynamoTransformer(): Uint8Array<ArrayBuffer> {
  const f = dynamoFile(20);
  f.input('x', ['s77', LENGTH, WIDTH]);
  const split = f.ints('val_shape', [-1, LENGTH, HEADS, WIDTH / HEADS]);
  const [q = '', k = '', v = ''] = ['q', 'k', 'v'].map((name) =>
    linear(f, 'x', `layer.${name}`, [WIDTH, WIDTH]),
  );
  const part = (y: string, perm: readonly number[]): string =>
    f.op('Transpose', [f.op('Reshape', [y, split], { allowzero: 1 })], { perm });
  const root = f.floats('scalar_tensor', [Math.sqrt(Math.sqrt(HEADS / WIDTH))], []);
  const queries = f.op('Mul', [part(q, [0, 2, 1, 3]), root]);
  const keys = f.op('Mul', [part(k, [0, 2, 3, 1]), root]);
  const p = f.op('Softmax', [f.op('MatMul', [queries, keys])], { axis: -1 });
  const turned = f.op('Transpose', [f.op('MatMul', [p, part(v, [0, 2, 1, 3])])], {
    perm: [0, 2, 1, 3],
  });
  const joined = f.op('Reshape', [turned, f.ints('val_joined', [-1, LENGTH, WIDTH])], {
    allowzero: 1,
  });
  const attended = f.op('Add', ['x', linear(f, joined, 'layer.out', [WIDTH, WIDTH])]);
  const a = layerNorm(f, attended, 'layer.norm1', WIDTH);
  const wide = f.op('Gelu', [linear(f, a, 'layer.linear1', [16, WIDTH])], { approximate: 'none' });
  const b = layerNorm(
    f,
    f.op('Add', [a, linear(f, wide, 'layer.linear2', [WIDTH, 16])]),
    'layer.norm2',
    WIDTH,
  );
  const pooled = f.op('ReduceMean', [b, f.ints('val_axes', [1])], {
    keepdims: 0,
    noop_with_empty_axes: 0,
  });
  f.output(gemm(f, pooled, 'head', [4, WIDTH], 'linear_out'), ['s77', 4]);
  return f.finish();
}

/** Channels last between convolutions; each block is scaled. */
function convNext(): Uint8Array<ArrayBuffer> {
  const f = dynamoFile(18);
  f.input('x', ['batch', 3, 12, 12]);
  const stem = conv(f, 'x', 'features.0.0', [6, 3, 3], { stride: 3, pad: 0 });
  const deep = conv(f, stem, 'features.1.0.block.0', [6, 6, 3], { group: 6 });
  const last = f.op('Transpose', [deep], { perm: [0, 2, 3, 1] });
  const normal = layerNorm(f, last, 'features.1.0.block.2', 6);
  const wide = gelu(f, linear(f, normal, 'features.1.0.block.3', [12, 6]), 'features.1.0.block.4');
  const narrow = linear(f, wide, 'features.1.0.block.5', [6, 12]);
  const first = f.op('Transpose', [narrow], { perm: [0, 3, 1, 2] });
  const scaled = f.op('Mul', [
    f.weight('features.1.0.layer_scale', [6, 1, 1], { shift: 0.5 }),
    first,
  ]);
  const y = f.op('Add', [scaled, stem]);
  const pooled = f.op('ReduceMean', [y, f.ints('val_axes', [-2, -1])], { keepdims: 1 });
  const flat = f.op('Reshape', [pooled, f.ints('val_flat', [-1, 6])], { allowzero: 1 });
  f.output(gemm(f, flat, 'classifier.2', [5, 6], 'addmm'), ['batch', 5]);
  return f.finish();
}

const TEXT = { input_ids: tokens(LENGTH, WORDS) };
const EACH_WORD = { loss: 'classes', targets: [3, LENGTH], classes: WORDS } as const;
const torchscript = (opset: number): string => `PyTorch, TorchScript, opset ${opset}`;

export const TRANSFORMERS: readonly ModelCase[] = [
  {
    name: 'ViT with a class token',
    exporter: torchscript(17),
    feeds: { input: image(3, 12) },
    loss: 'classes',
    targets: [3],
    classes: 5,
    make: () => {
      const f = torchFile(17);
      f.input('input', ['batch', 3, 12, 12]);
      f.output(vit(f, 'input'), ['batch', 5]);
      return f.finish();
    },
  },
  {
    name: 'GPT with a mask cut from a constant',
    exporter: torchscript(13),
    feeds: TEXT,
    ...EACH_WORD,
    make: () => gpt(13, causal, [primitiveNorm, geluNew]),
  },
  {
    name: 'GPT with Trilu',
    exporter: torchscript(17),
    feeds: TEXT,
    ...EACH_WORD,
    make: () => gpt(17, trilu, [layerNorm, gelu]),
  },
  {
    name: 'BERT with a mask as an input',
    exporter: torchscript(13),
    feeds: { ...TEXT, attention_mask: { type: 'int64', shape: [3, LENGTH], value: 1 } },
    loss: 'classes',
    targets: [3],
    classes: 3,
    make: bert,
  },
  { name: 'T5 encoder', exporter: torchscript(12), feeds: TEXT, ...EACH_WORD, make: t5 },
  {
    name: 'attention by Einsum',
    exporter: torchscript(12),
    feeds: { input: { type: 'float32', shape: [3, 5, WIDTH] } },
    loss: 'squares',
    targets: [3, 5, WIDTH],
    make: einsum,
  },
  {
    name: 'transformer encoder with Gelu',
    exporter: 'PyTorch, Dynamo, opset 20',
    feeds: { x: { type: 'float32', shape: [3, LENGTH, WIDTH] } },
    loss: 'classes',
    targets: [3],
    classes: 4,
    make: dynamoTransformer,
  },
  {
    name: 'ConvNeXt',
    exporter: 'PyTorch, Dynamo, opset 18',
    feeds: { x: image(3, 12) },
    loss: 'classes',
    targets: [3],
    classes: 5,
    make: convNext,
  },
];
