/** Activations and other functions of one number. Formulas are the derivatives of ONNX's definitions. */
import type { GraphBuilder } from '../graph/graph-builder.ts';
import { composed } from '../graph/tape.ts';
import { noGradient, NodeReader, type OpRule } from '../graph/op-rule.ts';
import { ARITHMETIC_RULES, insideBounds } from './arithmetic.ts';

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
const overRoot = (g: GraphBuilder, a: string): string => g.unary('Reciprocal', g.unary('Sqrt', a));

/** `slope` where x > 0, `otherwise` elsewhere. */
function bySign(g: GraphBuilder, x: string, slope: number, otherwise: string): string {
  const positive = g.greater(x, g.scalar(0));
  return g.add(g.scale(positive, slope), g.mul(oneMinus(g, positive), otherwise));
}

const LEAKY_RELU = { alpha: 0.01 };
const ELU = { alpha: 1 };
const SELU = { alpha: 1.6732632, gamma: 1.050701 };
const HARD_SIGMOID = { alpha: 0.2, beta: 0.5 };

const CELU = { alpha: 1 };
const THRESHOLDED_RELU = { alpha: 1 };
const SHRINK = { bias: 0, lambd: 0.5 };

const GATE_RULES: Readonly<Record<string, OpRule>> = {
  ...ARITHMETIC_RULES,
  Tanh: pointwise((g, _x, y) => oneMinus(g, square(g, y))),
  Softplus: pointwise((g, x) => g.unary('Sigmoid', x)),
};

/** x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, Hendrycks and Gimpel's approximation. */
const geluByTanh: OpRule = composed(GATE_RULES, (tape, { g }, { inputs: [x = ''] }) => {
  const cubed = tape.op('Mul', [x, tape.op('Mul', [x, x])]);
  const inner = tape.op('Add', [x, tape.op('Mul', [cubed, g.scalar(0.044_715)])]);
  const turned = tape.op('Tanh', [tape.op('Mul', [inner, g.scalar(Math.sqrt(2 / Math.PI))])]);
  const half = tape.op('Mul', [x, g.scalar(0.5)]);
  return [tape.op('Mul', [half, tape.op('Add', [turned, g.scalar(1)])])];
});

/** x tanh(log(1 + e^x)): Misra, Mish, 2019. */
const mish: OpRule = composed(GATE_RULES, (tape, _context, { inputs: [x = ''] }) => [
  tape.op('Mul', [x, tape.op('Tanh', [tape.op('Softplus', [x])])]),
]);

/** x times Phi(x); Hendrycks and Gimpel, Gaussian Error Linear Units, 2016. */
const gelu: OpRule = (context, node) => {
  const { g } = context;
  const reader = new NodeReader(node);
  if (reader.text('approximate', 'none') === 'tanh') return geluByTanh(context, node);
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
    const slope = g.mul(insideBounds(g, x, -3, 3), g.add(g.scale(x, 1 / 3), g.scalar(0.5)));
    return [g.mul(dy, g.add(above, slope))];
  };
};

/** x moved towards 0 by `bias` where it is further than `lambd` from it, and 0 elsewhere. */
const shrink: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const [bias, lambd] = [reader.number('bias', SHRINK.bias), reader.number('lambd', SHRINK.lambd)];
  const isFar = g.compare('Greater', g.unary('Abs', x), g.scalar(lambd));
  g.where(isFar, g.sub(x, g.scale(g.unary('Sign', x), bias)), g.scalar(0), node.output);
  return (dy) => [g.where(isFar, dy, g.scalar(0))];
};

/** An operator whose slope is 0 nearly everywhere: rounding. */
const flat: OpRule = ({ g }, { op, inputs: [x = ''], output }) => {
  g.unary(op, x, {}, output);
  return noGradient;
};

/** The rules of this file by operator. */
export const ACTIVATION_RULES: Readonly<Record<string, OpRule>> = {
  Gelu: gelu,
  Silu: silu,
  HardSwish: hardSwish,
  Abs: pointwise((g, x) => g.unary('Sign', x)),
  Acos: pointwise((g, x) => g.unary('Neg', overRoot(g, oneMinus(g, square(g, x))))),
  Asin: pointwise((g, x) => overRoot(g, oneMinus(g, square(g, x)))),
  Atan: pointwise((g, x) => g.unary('Reciprocal', g.add(square(g, x), g.scalar(1)))),
  Ceil: flat,
  Celu: pointwise((g, x, y, node) => {
    const alpha = node.number('alpha', CELU.alpha);
    return bySign(g, x, 1, g.add(g.scale(y, 1 / alpha), g.scalar(1)));
  }, CELU),
  Cos: pointwise((g, x) => g.unary('Neg', g.unary('Sin', x))),
  Cosh: pointwise((g, x) => g.unary('Sinh', x)),
  Floor: flat,
  Mish: mish,
  Round: flat,
  Shrink: shrink,
  Sign: flat,
  Sin: pointwise((g, x) => g.unary('Cos', x)),
  Sinh: pointwise((g, x) => g.unary('Cosh', x)),
  Softsign: pointwise((g, x) =>
    g.unary('Reciprocal', square(g, g.add(g.unary('Abs', x), g.scalar(1)))),
  ),
  Tan: pointwise((g, _x, y) => g.add(square(g, y), g.scalar(1))),
  ThresholdedRelu: pointwise(
    (g, x, _y, node) => g.greater(x, g.scalar(node.number('alpha', THRESHOLDED_RELU.alpha))),
    THRESHOLDED_RELU,
  ),
  Elu: pointwise(
    (g, x, y, node) => bySign(g, x, 1, g.add(y, g.scalar(node.number('alpha', ELU.alpha)))),
    ELU,
  ),
  Erf: pointwise((g, x) =>
    g.scale(g.unary('Exp', g.unary('Neg', square(g, x))), 2 / Math.sqrt(Math.PI)),
  ),
  Exp: pointwise((_g, _x, y) => y),
  HardSigmoid: pointwise(
    (g, _x, y, node) => g.scale(insideBounds(g, y, 0, 1), node.number('alpha', HARD_SIGMOID.alpha)),
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
