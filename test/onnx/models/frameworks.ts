/** Networks as the exporters of other frameworks write them. */
import {
  CNTK,
  FileBuilder,
  KERAS,
  MXNET,
  PADDLE,
  SKLEARN,
  TENSORFLOW,
  numbersOf,
} from '../file-builder.ts';
import { image, type ModelCase } from '../model-case.ts';

const tensorFlow = (opset: number): FileBuilder =>
  new FileBuilder({ opset, style: TENSORFLOW, producer: 'tf2onnx' });

/** A convolution of images with channels last: turned round before and behind; batch normalisation is folded into it. */
function nhwcConv(
  f: FileBuilder,
  x: string,
  path: string,
  [out, into, size]: readonly [number, number, number],
  stride: number,
): string {
  f.at(path);
  const first = f.op('Transpose', [x], { perm: [0, 3, 1, 2] });
  let y = first;
  if (stride === 2) {
    // TensorFlow pads strided convolutions at the end only.
    const pads = f.ints(`const_pads__${path}`, [0, 0, 0, 0, 0, 0, 1, 1]);
    y = f.op('Pad', [first, pads, f.floats(`const_zero__${path}`, [0], [])]);
  }
  const edge = stride === 2 ? 0 : Math.floor(size / 2);
  const inputs = [
    y,
    f.weight(`${path}/Conv2D/ReadVariableOp:0`, [out, into, size, size]),
    f.weight(`${path}/Conv2D_bias_fused_bn`, [out]),
  ];
  y = f.op('Conv', inputs, {
    strides: [stride, stride],
    kernel_shape: [size, size],
    pads: [edge, edge, edge, edge],
    dilations: [1, 1],
    group: 1,
  });
  return f.op('Relu', [f.op('Transpose', [y], { perm: [0, 2, 3, 1] })]);
}

function dense(
  f: FileBuilder,
  x: string,
  path: string,
  [into, out]: readonly [number, number],
): string {
  f.at(path);
  const product = f.op('MatMul', [x, f.weight(`${path}/MatMul/ReadVariableOp:0`, [into, out])]);
  return f.op('Add', [product, f.weight(`${path}/BiasAdd/ReadVariableOp:0`, [out])]);
}

function tfCnn(): Uint8Array<ArrayBuffer> {
  const f = tensorFlow(13);
  f.input('input_1', ['unk__100', 12, 12, 3]);
  let y = nhwcConv(f, 'input_1', 'model/conv2d', [6, 3, 3], 2);
  y = nhwcConv(f, y, 'model/conv2d_1', [8, 6, 3], 1);
  f.at('model/global_average_pooling2d');
  const turned = f.op('Transpose', [y], { perm: [0, 3, 1, 2] });
  const pooled = f.op('GlobalAveragePool', [turned]);
  const flat = f.op('Squeeze', [pooled, f.ints('const_axes__30', [2, 3])]);
  const logits = dense(f, flat, 'model/dense', [8, 5]);
  f.output(f.op('Softmax', [logits], { axis: -1 }, 'dense'), ['unk__101', 5]);
  return f.finish();
}

/** A convolution of sequences, which TensorFlow makes one of images: with an axis more, and less. */
function tfSequence(): Uint8Array<ArrayBuffer> {
  const f = tensorFlow(15);
  f.input('x', ['unk__7', 10, 4]);
  f.at('model/conv1d');
  const axes = f.ints('const_axes__7', [-3]);
  const wide = f.op('Unsqueeze', ['x', axes]);
  const first = f.op('Transpose', [wide], { perm: [0, 3, 1, 2] });
  const made = f.op('Conv', [first, f.weight('model/conv1d/kernel', [6, 4, 1, 3])], {
    strides: [1, 1],
    kernel_shape: [1, 3],
    auto_pad: 'SAME_UPPER',
  });
  const last = f.op('Transpose', [made], { perm: [0, 2, 3, 1] });
  const narrow = f.op('Squeeze', [last, axes]);
  const a = f.op('LeakyRelu', [f.op('Add', [narrow, f.weight('model/conv1d/bias', [6])])], {
    alpha: { float: 0.2 },
  });
  const most = f.op('ReduceMax', [a], { axes: [1], keepdims: 0 });
  const shape = f.ints('model/flatten/Const:0', [-1, 6]);
  const y = dense(f, f.op('Reshape', [most, shape]), 'model/dense', [6, 1]);
  f.output(f.op('Sigmoid', [y], {}, 'dense'), ['unk__8', 1]);
  return f.finish();
}

/** A shape computed in int32 and cast, as `tf.reshape(x, [tf.shape(x)[0], -1])` becomes. */
function tfMlp(): Uint8Array<ArrayBuffer> {
  const f = tensorFlow(12);
  f.input('x', ['batch', 4, 3]);
  f.at('model/flatten');
  const sizes = f.op('Cast', [f.op('Shape', ['x'])], { to: 6 });
  const starts = f.ints('const_starts', [0]);
  const ends = f.ints('const_ends', [1]);
  const cut = f.op('Slice', [f.op('Cast', [sizes], { to: 7 }), starts, ends, starts]);
  const batch = f.op('Squeeze', [cut], { axes: [0] });
  const both = f.op(
    'Concat',
    [f.op('Unsqueeze', [batch], { axes: [0] }), f.ints('const_rest', [12])],
    { axis: 0 },
  );
  const flat = f.op('Reshape', ['x', both]);
  const a = f.op('Elu', [dense(f, flat, 'model/dense', [12, 10])]);
  const b = f.op('Selu', [dense(f, a, 'model/dense_1', [10, 6])]);
  f.output(f.op('Identity', [dense(f, b, 'model/dense_2', [6, 2])], {}, 'Identity:0'), [
    'batch',
    2,
  ]);
  return f.finish();
}

/** Keras gives sequences batch first; keras2onnx turns them round and writes a number of all weights as a bias. */
function kerasLstm(): Uint8Array<ArrayBuffer> {
  const f = new FileBuilder({ opset: 11, style: KERAS, producer: 'keras2onnx' });
  f.input('input_1', ['N', 6, 4]);
  f.at('lstm');
  const turned = f.op('Transpose', ['input_1'], { perm: [1, 0, 2] });
  const inputs = [
    turned,
    f.weight('lstm_W', [1, 20, 4], { scale: 0.5 }),
    f.weight('lstm_R', [1, 20, 5], { scale: 0.5 }),
    f.weight('lstm_B', [1, 40]),
  ];
  const attributes = {
    hidden_size: 5,
    direction: 'forward',
    activations: { strings: ['Sigmoid', 'Tanh', 'Tanh'] },
  };
  const [, last = ''] = f.ops('LSTM', inputs, ['', null], attributes);
  const state = f.op('Squeeze', [last], { axes: [0] });
  f.at('dense');
  const product = f.op('MatMul', [state, f.weight('dense/kernel:0', [5, 3])]);
  const biased = f.op('Add', [product, f.weight('dense/bias:0', [3])]);
  f.output(f.op('Softmax', [biased], { axis: 1 }, 'dense_1'), ['N', 3]);
  return f.finish();
}

function kerasCnn(): Uint8Array<ArrayBuffer> {
  const f = new FileBuilder({ opset: 11, style: KERAS, producer: 'keras2onnx' });
  f.input('input', ['N', 8, 8, 1]);
  f.at('conv2d');
  const adjusted = f.op('Transpose', ['input'], { perm: [0, 3, 1, 2] });
  const made = f.op(
    'Conv',
    [adjusted, f.weight('conv2d/kernel', [4, 1, 3, 3]), f.weight('conv2d/bias', [4])],
    {
      auto_pad: 'VALID',
      kernel_shape: [3, 3],
      strides: [1, 1],
      dilations: [1, 1],
      group: 1,
    },
  );
  const pooled = f.op('MaxPool', [f.op('Relu', [made])], {
    auto_pad: 'VALID',
    kernel_shape: [2, 2],
    strides: [2, 2],
  });
  const norm = [
    pooled,
    f.weight('bn/gamma', [4], { shift: 1 }),
    f.weight('bn/beta', [4]),
    f.weight('bn/moving_mean', [4]),
    f.weight('bn/moving_variance', [4], { shift: 1 }),
  ];
  const normal = f.op('BatchNormalization', norm, {
    epsilon: { float: 1e-3 },
    momentum: { float: 0.99 },
  });
  const turned = f.op('Transpose', [normal], { perm: [0, 2, 3, 1] });
  const flat = f.op('Reshape', [turned, f.ints('shape_tensor', [-1, 36])]);
  const product = f.op('MatMul', [flat, f.weight('dense/kernel', [36, 4])]);
  f.output(f.op('Softmax', [f.op('Add', [product, f.weight('dense/bias', [4])])], {}, 'dense'), [
    'N',
    4,
  ]);
  return f.finish();
}

/** Three outputs of one head: classes as numbers that are looked up, and probabilities; no ZipMap. */
function sklearnMlp(): Uint8Array<ArrayBuffer> {
  const f = new FileBuilder({ opset: 15, style: SKLEARN, producer: 'skl2onnx' });
  f.input('X', ['N', 4]);
  const cast = f.op('Cast', ['X'], { to: 1 }, 'cast_input');
  const layer = (x: string, at: number, [into, out]: readonly [number, number]): string => {
    const product = f.op(
      'MatMul',
      [x, f.weight(`coefficient${at}`, [into, out])],
      {},
      `mul_result${at}`,
    );
    return f.op('Add', [product, f.weight(`intercepts${at}`, [1, out])], {}, `add_result${at}`);
  };
  const hidden = f.op('Relu', [layer(cast, 0, [4, 8])], {}, 'next_activations');
  const logits = layer(hidden, 1, [8, 3]);
  const p = f.op('Softmax', [logits], { axis: 1 }, 'out_activations_result');
  f.op('Identity', [p], {}, 'probabilities');
  const best = f.op('ArgMax', [p], { axis: 1 }, 'argmax_output');
  const classes = f.ints('classes', [0, 1, 2]);
  const [picked = ''] = f.ops(
    'ArrayFeatureExtractor',
    [classes, best],
    ['array_feature_extractor_result'],
    {},
    'ai.onnx.ml',
  );
  const flat = f.op('Reshape', [picked, f.ints('shape_tensor', [-1])], {}, 'reshaped_result');
  f.op('Cast', [flat], { to: 7 }, 'label');
  f.output('label', ['N'], 'int64');
  f.output('probabilities', ['N', 3]);
  return f.finish({ 'ai.onnx.ml': 1 });
}

/** LeNet of CNTK: weights are `Constant` nodes, biases have three axes, a product of a tensor is a Reshape and a MatMul. */
function cntkLeNet(opset: number): Uint8Array<ArrayBuffer> {
  const f = new FileBuilder({ opset, style: CNTK, producer: 'CNTK' });
  const isNode = true;
  f.input('Input3', ['FreeDimension', 1, 8, 8]);
  const scaled = f.op('Mul', ['Input3', f.floats('Constant339', [1 / 2], [], { isNode })]);
  const layer = (x: string, name: string, [out, into]: readonly [number, number]): string => {
    const kernel = f.weight(`Parameter${name}`, [out, into, 5, 5], { isNode });
    const made = f.op('Conv', [x, kernel], {
      kernel_shape: [5, 5],
      strides: [1, 1],
      auto_pad: 'SAME_UPPER',
      group: 1,
      dilations: [1, 1],
    });
    const plus = f.op('Add', [
      made,
      f.weight(`Parameter${name}_bias`, [out, 1, 1], { isNode, scale: 0.1 }),
    ]);
    return f.op('MaxPool', [f.op('Relu', [plus])], {
      kernel_shape: [2, 2],
      strides: [2, 2],
      pads: [0, 0, 0, 0],
      auto_pad: 'NOTSET',
    });
  };
  const y = layer(layer(scaled, '5', [4, 1]), '87', [6, 4]);
  const flat = f.op('Reshape', [
    y,
    f.ints('Pooling160_Output_0_reshape0_shape', [-1, 24], [2], true),
  ]);
  const cube = f.weight('Parameter193', [6, 2, 2, 5], { isNode, scale: 0.4 });
  const matrix = f.op('Reshape', [cube, f.ints('Parameter193_reshape1_shape', [24, 5], [2], true)]);
  const product = f.op('MatMul', [flat, matrix]);
  const bias = f.weight('Parameter194', [1, 5], { isNode, scale: 0.1 });
  f.output(f.op('Add', [product, bias], {}, 'Plus214_Output_0'), ['FreeDimension', 5]);
  return f.finish();
}

/** PaddlePaddle writes HardSwish as what it is made of, and shapes as `Constant` nodes. */
function paddle(): Uint8Array<ArrayBuffer> {
  const f = new FileBuilder({ opset: 11, style: PADDLE, producer: 'PaddlePaddle' });
  f.input('x', ['DynamicDimension.0', 3, 12, 12]);
  const unit = (
    x: string,
    at: number,
    [out, into, size]: readonly [number, number, number],
    stride: number,
    group = 1,
  ): string => {
    const edge = Math.floor(size / 2);
    const kernel = f.weight(`conv2d_${at}.w_0`, [out, into / group, size, size]);
    const made = f.op('Conv', [x, kernel], {
      dilations: [1, 1],
      kernel_shape: [size, size],
      strides: [stride, stride],
      group,
      pads: [edge, edge, edge, edge],
    });
    const norm = ['w_0', 'b_0', 'w_1', 'w_2'].map((part, i) =>
      f.weight(`batch_norm_${at}.${part}`, [out], { shift: i % 3 === 0 ? 1 : 0 }),
    );
    const normal = f.op('BatchNormalization', [made, ...norm], {
      epsilon: { float: 1e-5 },
      momentum: { float: 0.9 },
    });
    const shifted = f.op('Add', [normal, f.constantFloat(3, [1])]);
    const cut = f.op('Clip', [shifted, f.constantFloat(0), f.constantFloat(6)]);
    return f.op('Div', [f.op('Mul', [normal, cut]), f.constantFloat(6, [1])]);
  };
  const y = unit(unit('x', 0, [6, 3, 3], 2), 1, [6, 6, 3], 1, 6);
  const pooled = f.op('AveragePool', [y], {
    kernel_shape: [6, 6],
    strides: [6, 6],
    ceil_mode: 0,
    pads: [0, 0, 0, 0],
  });
  const flat = f.op('Reshape', [pooled, f.constantInts([0, -1])]);
  const product = f.op('MatMul', [flat, f.weight('linear_0.w_0', [6, 5])]);
  const sum = f.op('Add', [product, f.weight('linear_0.b_0', [5])], {}, 'linear_0.tmp_1');
  f.output(f.op('Softmax', [sum], { axis: -1 }, 'softmax_0.tmp_0'), ['DynamicDimension.0', 5]);
  return f.finish();
}

/** MXNet's model zoo: batch normalisation with `spatial`, activations by name, a dense layer as Flatten and Gemm. */
function mxNet(): Uint8Array<ArrayBuffer> {
  const f = new FileBuilder({ opset: 8, style: MXNET, producer: 'MXNet' });
  f.input('data', ['N', 3, 12, 12]);
  const norm = (y: string, path: string, channels: number): string => {
    const parts = ['gamma', 'beta', 'running_mean', 'running_var'].map((part, i) =>
      f.weight(`${path}_${part}`, [channels], { shift: i % 3 === 0 ? 1 : 0 }),
    );
    const attributes = { epsilon: { float: 2e-5 }, momentum: { float: 0.9 }, spatial: 1 };
    return f.at(path).op('BatchNormalization', [y, ...parts], attributes);
  };
  const unit = (
    y: string,
    path: string,
    [out, into]: readonly [number, number],
    stride: number,
  ): string => {
    const a = f.op('LeakyRelu', [norm(y, `${path}_batchnorm0`, into)], { alpha: { float: 0.1 } });
    f.at(`${path}_conv0`);
    return f.op('Conv', [a, f.weight(`${path}_conv0_weight`, [out, into, 3, 3])], {
      dilations: [1, 1],
      group: 1,
      kernel_shape: [3, 3],
      pads: [1, 1, 1, 1],
      strides: [stride, stride],
    });
  };
  const a = unit('data', 'resnetv2_stage1', [6, 3], 2);
  const b = f.op('Sum', [unit(a, 'resnetv2_stage2', [6, 6], 1), a]);
  const pooled = f.op('GlobalAveragePool', [norm(b, 'resnetv2_batchnorm2', 6)]);
  const dropped = f.op('Dropout', [pooled], { ratio: { float: 0.3 } });
  const flat = f.op('Flatten', [dropped]);
  const gemm = [
    flat,
    f.weight('resnetv2_dense0_weight', [5, 6]),
    f.weight('resnetv2_dense0_bias', [5]),
  ];
  f.output(
    f.op(
      'Gemm',
      gemm,
      { alpha: { float: 1 }, beta: { float: 1 }, transA: 0, transB: 1 },
      'resnetv2_dense0_fwd',
    ),
    ['N', 5],
  );
  return f.finish();
}

/** Caffe2 writes weights without a name of the layer, and max pooling by a stride of 3. */
function caffe2(): Uint8Array<ArrayBuffer> {
  const f = new FileBuilder({ opset: 9, style: CNTK, producer: 'onnx-caffe2' });
  f.input('gpu_0/data_0', ['batch', 3, 12, 12]);
  const made = f.op('Conv', ['gpu_0/data_0', f.weight('gpu_0/conv1_w_0', [6, 3, 3, 3])], {
    kernel_shape: [3, 3],
    strides: [1, 1],
    pads: [1, 1, 1, 1],
  });
  const scale = f.op('Mul', [made, f.floats('gpu_0/scale_0', numbersOf('scale', 6), [6, 1, 1])]);
  const pooled = f.op('MaxPool', [f.op('Relu', [scale])], {
    kernel_shape: [3, 3],
    strides: [3, 3],
  });
  const flat = f.op('Reshape', [pooled, f.ints('OC2_DUMMY_1', [-1, 96])]);
  const gemm = [flat, f.weight('gpu_0/pred_w_0', [4, 96]), f.weight('gpu_0/pred_b_0', [4])];
  f.output(
    f.op('Softmax', [f.op('Gemm', gemm, { transB: 1 }, 'gpu_0/pred_1')], {}, 'gpu_0/softmax_1'),
    ['batch', 4],
  );
  return f.finish();
}

const classes = (count: number) => ({ loss: 'classes', targets: [3], classes: count }) as const;

export const FRAMEWORKS: readonly ModelCase[] = [
  {
    name: 'CNN with channels last, Pad and Softmax',
    exporter: 'tf2onnx, opset 13',
    feeds: { input_1: { type: 'float32', shape: [3, 12, 12, 3] } },
    ...classes(5),
    logits: 'StatefulPartitionedCall/model/dense/Add:0',
    make: tfCnn,
  },
  {
    name: 'Conv1D with Squeeze and Unsqueeze',
    exporter: 'tf2onnx, opset 15',
    feeds: { x: { type: 'float32', shape: [3, 10, 4] } },
    loss: 'squares',
    targets: [3, 1],
    make: tfSequence,
  },
  {
    name: 'dense layers behind a computed shape',
    exporter: 'tf2onnx, opset 12',
    feeds: { x: { type: 'float32', shape: [3, 4, 3] } },
    loss: 'squares',
    targets: [3, 2],
    make: tfMlp,
  },
  {
    name: 'LSTM and a dense layer',
    exporter: 'keras2onnx, opset 11',
    feeds: { input_1: { type: 'float32', shape: [3, 6, 4] } },
    ...classes(3),
    learningRate: 0.03,
    logits: 'dense_add0',
    make: kerasLstm,
  },
  {
    name: 'CNN with batch normalisation',
    exporter: 'keras2onnx, opset 11',
    feeds: { input: { type: 'float32', shape: [3, 8, 8, 1] } },
    ...classes(4),
    logits: 'conv2d_add0',
    make: kerasCnn,
  },
  {
    name: 'MLPClassifier',
    exporter: 'sklearn-onnx, opset 15',
    feeds: { X: { type: 'float32', shape: [6, 4] } },
    loss: 'classes',
    targets: [6],
    classes: 3,
    output: 'out_activations_result',
    shownAs: 'probabilities',
    logits: 'add_result1',
    make: sklearnMlp,
  },
  {
    name: 'LeNet',
    exporter: 'CNTK, opset 7',
    feeds: { Input3: image(1, 8) },
    ...classes(5),
    make: () => cntkLeNet(7),
  },
  {
    name: 'LeNet of a later version',
    exporter: 'CNTK, opset 9',
    feeds: { Input3: image(1, 8) },
    ...classes(5),
    make: () => cntkLeNet(9),
  },
  {
    name: 'MobileNetV3 whose HardSwish is written out',
    exporter: 'PaddlePaddle, opset 11',
    feeds: { x: image(3, 12) },
    ...classes(5),
    logits: 'linear_0.tmp_1',
    make: paddle,
  },
  {
    name: 'ResNetV2',
    exporter: 'MXNet, opset 8',
    feeds: { data: image(3, 12) },
    ...classes(5),
    make: mxNet,
  },
  {
    name: 'CNN with a scale behind the convolution',
    exporter: 'Caffe2, opset 9',
    feeds: { 'gpu_0/data_0': image(3, 12) },
    ...classes(4),
    logits: 'gpu_0/pred_1',
    make: caffe2,
  },
];
