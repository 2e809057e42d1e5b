/** Elementwise operators and activations. Formulas are the derivatives of ONNX's definitions. */
import type { GraphBuilder } from './graph-builder.ts';
import { NodeReader, type OpRule } from './op-rule.ts';

const add: OpRule = ({ g }, { inputs: [a = '', b = ''], output }) => {
  g.binary('Add', a, b, output);
  return (dy) => [g.sumTo(dy, g.shape(a)), g.sumTo(dy, g.shape(b))];
};

const sub: OpRule = ({ g }, { inputs: [a = '', b = ''], output }) => {
  g.binary('Sub', a, b, output);
  return (dy, [, wantsB]) => [
    g.sumTo(dy, g.shape(a)),
    wantsB === true ? g.sumTo(g.unary('Neg', dy), g.shape(b)) : null,
  ];
};

const mul: OpRule = ({ g }, { inputs: [a = '', b = ''], output }) => {
  g.binary('Mul', a, b, output);
  return (dy, [wantsA, wantsB]) => [
    wantsA === true ? g.sumTo(g.mul(dy, b), g.shape(a)) : null,
    wantsB === true ? g.sumTo(g.mul(dy, a), g.shape(b)) : null,
  ];
};

const div: OpRule = ({ g }, { inputs: [a = '', b = ''], output }) => {
  g.binary('Div', a, b, output);
  return (dy, [wantsA, wantsB]) => {
    const da = g.div(dy, b);
    return [
      wantsA === true ? g.sumTo(da, g.shape(a)) : null,
      wantsB === true ? g.sumTo(g.unary('Neg', g.mul(da, output)), g.shape(b)) : null,
    ];
  };
};

/** x to a constant power. */
const pow: OpRule = (context, node) => {
  const { g } = context;
  const [x = '', exponent = ''] = node.inputs;
  const [p, ...more] = context.constant(exponent);
  if (p === undefined || more.length > 0)
    throw new NodeReader(node).unsupported('the exponent is not one number');
  g.binary('Pow', x, exponent, node.output);
  return (dy) => [g.mul(dy, g.scale(g.binary('Pow', x, g.scalar(p - 1)), p)), null];
};

/** The slope at each element, from the input and the output. */
type Slope = (g: GraphBuilder, x: string, y: string, node: NodeReader) => string;

/** An operator that looks at each element by itself; `names` are its attributes, all floats, with their defaults. */
function pointwise(slope: Slope, names: Readonly<Record<string, number>> = {}): OpRule {
  return ({ g }, node) => {
    const reader = new NodeReader(node);
    const x = reader.input(0);
    const attributes = Object.fromEntries(
      Object.entries(names).map(([name, fallback]) => [
        name,
        { float: reader.number(name, fallback) },
      ]),
    );
    g.unary(node.op, x, attributes, node.output);
    return (dy) => [g.mul(dy, slope(g, x, node.output, reader))];
  };
}

const oneMinus = (g: GraphBuilder, a: string): string => g.sub(g.scalar(1), a);
const square = (g: GraphBuilder, a: string): string => g.mul(a, a);

/** `slope` where x > 0, `otherwise` elsewhere. */
function bySign(g: GraphBuilder, x: string, slope: number, otherwise: string): string {
  const positive = g.greater(x, g.scalar(0));
  return g.add(g.scale(positive, slope), g.mul(oneMinus(g, positive), otherwise));
}

/** 1 where `low` < x < `high`, 0 elsewhere. */
function between(g: GraphBuilder, x: string, low: number, high: number): string {
  return g.mul(g.greater(x, g.scalar(low)), g.greater(g.scalar(high), x));
}

const LEAKY_RELU = { alpha: 0.01 };
const ELU = { alpha: 1 };
const SELU = { alpha: 1.6732632, gamma: 1.050701 };
const HARD_SIGMOID = { alpha: 0.2, beta: 0.5 };

/** min and max are inputs from operator set 11 on, attributes before. */
const clip: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const bound = (index: number, name: string, none: number): number => {
    const input = reader.optionalInput(index);
    return input === undefined ? reader.number(name, none) : (context.constant(input)[0] ?? none);
  };
  const low = Math.max(bound(1, 'min', -FLOAT_MAX), -FLOAT_MAX);
  const high = Math.min(bound(2, 'max', FLOAT_MAX), FLOAT_MAX);
  g.op('Clip', [x, g.scalar(low), g.scalar(high)], g.shape(x), {}, { output: node.output });
  return (dy) => [g.mul(dy, between(g, x, low, high)), null, null];
};

const FLOAT_MAX = 3.402_823_466_385_288_6e38;

/** x times Phi(x); Hendrycks and Gimpel, Gaussian Error Linear Units, 2016. */
const gelu: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  if (reader.text('approximate', 'none') !== 'none')
    throw reader.unsupported('only the exact form is known');
  const x = reader.input(0);
  const phi = g.scale(g.add(g.unary('Erf', g.scale(x, Math.SQRT1_2)), g.scalar(1)), 0.5);
  g.binary('Mul', x, phi, node.output);
  return (dy) => {
    const density = g.scale(
      g.unary('Exp', g.scale(square(g, x), -0.5)),
      1 / Math.sqrt(2 * Math.PI),
    );
    return [g.mul(dy, g.add(phi, g.mul(x, density)))];
  };
};

/** x times sigmoid(x): Ramachandran, Zoph and Le, Searching for Activation Functions, 2017. Not an operator of ONNX. */
const silu: OpRule = ({ g }, { inputs: [x = ''], output }) => {
  const s = g.unary('Sigmoid', x);
  g.binary('Mul', x, s, output);
  // s + x s (1 - s) = s + y (1 - s)
  return (dy) => [g.mul(dy, g.add(s, g.mul(output, oneMinus(g, s))))];
};

/** x times the hard sigmoid with slope 1/6. */
const hardSwish: OpRule = ({ g }, { inputs: [x = ''], output }) => {
  g.unary('HardSwish', x, {}, output);
  return (dy) => {
    const above = g.greater(x, g.scalar(3));
    const slope = g.mul(between(g, x, -3, 3), g.add(g.scale(x, 1 / 3), g.scalar(0.5)));
    return [g.mul(dy, g.add(above, slope))];
  };
};

const identity: OpRule = ({ g }, { inputs: [x = ''], output }) => {
  g.unary('Identity', x, {}, output);
  return (dy) => [dy];
};

/** The rules of this file by operator. */
export const ELEMENTWISE_RULES: Readonly<Record<string, OpRule>> = {
  Add: add,
  Sub: sub,
  Mul: mul,
  Div: div,
  Pow: pow,
  Clip: clip,
  Gelu: gelu,
  Silu: silu,
  HardSwish: hardSwish,
  Identity: identity,
  Abs: pointwise((g, x) => g.unary('Sign', x)),
  Elu: pointwise(
    (g, x, y, node) => bySign(g, x, 1, g.add(y, g.scalar(node.number('alpha', ELU.alpha)))),
    ELU,
  ),
  Erf: pointwise((g, x) =>
    g.scale(g.unary('Exp', g.unary('Neg', square(g, x))), 2 / Math.sqrt(Math.PI)),
  ),
  Exp: pointwise((_g, _x, y) => y),
  HardSigmoid: pointwise(
    (g, _x, y, node) => g.scale(between(g, y, 0, 1), node.number('alpha', HARD_SIGMOID.alpha)),
    HARD_SIGMOID,
  ),
  LeakyRelu: pointwise(
    (g, x, _y, node) => bySign(g, x, 1, g.scalar(node.number('alpha', LEAKY_RELU.alpha))),
    LEAKY_RELU,
  ),
  Log: pointwise((g, x) => g.unary('Reciprocal', x)),
  Neg: pointwise((g) => g.scalar(-1)),
  Reciprocal: pointwise((g, _x, y) => g.unary('Neg', square(g, y))),
  // The output is never negative, so its sign is the slope: 0 where x is at most 0.
  Relu: pointwise((g, _x, y) => g.unary('Sign', y)),
  Selu: pointwise((g, x, y, node) => {
    const [alpha, gamma] = [node.number('alpha', SELU.alpha), node.number('gamma', SELU.gamma)];
    return bySign(g, x, gamma, g.add(y, g.scalar(alpha * gamma)));
  }, SELU),
  Sigmoid: pointwise((g, _x, y) => g.mul(y, oneMinus(g, y))),
  Softplus: pointwise((g, x) => g.unary('Sigmoid', x)),
  Sqrt: pointwise((g, _x, y) => g.scale(g.unary('Reciprocal', y), 0.5)),
  Tanh: pointwise((g, _x, y) => oneMinus(g, square(g, y))),
};
