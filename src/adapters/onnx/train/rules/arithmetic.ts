/** Arithmetic, comparisons and choices, element by element with broadcasting. Formulas are the derivatives of ONNX's definitions. */
import {
  ELEMENT_TYPES,
  elementTypeOf,
  FLOAT_TYPES,
  type ElementType,
} from '../../file/onnx-format.ts';
import { broadcastShape, type GraphBuilder, type TensorShape } from '../graph/graph-builder.ts';
import { noGradient, NodeReader, type ForwardNode, type OpRule } from '../graph/op-rule.ts';

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

/** x to a power: dx = p x^(p - 1), and dp = y log(x), for which x has to be positive. */
const pow: OpRule = ({ g, constantOrNone }, { inputs: [x = '', p = ''], output }) => {
  g.binary('Pow', x, p, output);
  const [power, ...more] = constantOrNone(p) ?? [];
  const slope = (): string => {
    if (power === undefined || more.length > 0)
      return g.mul(g.binary('Pow', x, g.sub(p, g.scalar(1))), p);
    return g.scale(power === 2 ? x : g.binary('Pow', x, g.scalar(power - 1)), power);
  };
  return (dy, [wantsX, wantsP]) => [
    wantsX === true ? g.sumTo(g.mul(dy, slope()), g.shape(x)) : null,
    wantsP === true ? g.sumTo(g.mul(dy, g.mul(output, g.unary('Log', x))), g.shape(p)) : null,
  ];
};

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
  return (dy) => [g.mul(dy, insideBounds(g, x, low, high)), null, null];
};

const FLOAT_MAX = 3.402_823_466_385_288_6e38;

/** 1 where `low` < x < `high`, 0 elsewhere. */
export function insideBounds(g: GraphBuilder, x: string, low: number, high: number): string {
  return g.mul(g.greater(x, g.scalar(low)), g.greater(g.scalar(high), x));
}

const shapeOfAll = (g: GraphBuilder, names: readonly string[]): TensorShape =>
  names.reduce<TensorShape>((shape, name) => broadcastShape(shape, g.shape(name)), []);

/** The largest or smallest of any number of inputs. Of equal ones, the first gets the gradient. */
const extreme: OpRule = ({ g }, { op, inputs, output }) => {
  const shape = shapeOfAll(g, inputs);
  g.op(op, inputs, shape, {}, { output, type: g.type(inputs[0] ?? '') });
  return (dy) => {
    // What no input before was equal to.
    let left = dy;
    return inputs.map((name, index) => {
      if (index === inputs.length - 1) return g.sumTo(left, g.shape(name));
      const isIt = g.compare('Equal', name, output);
      const own = g.where(isIt, left, g.scalar(0));
      left = g.where(isIt, g.scalar(0), left);
      return g.sumTo(own, g.shape(name));
    });
  };
};

/** The sum or the mean of any number of inputs. */
const sumOrMean: OpRule = ({ g }, { op, inputs, output }) => {
  g.op(op, inputs, shapeOfAll(g, inputs), {}, { output });
  return (dy) => {
    const each = op === 'Sum' ? dy : g.scale(dy, 1 / inputs.length);
    return inputs.map((name) => g.sumTo(each, g.shape(name)));
  };
};

const where: OpRule = ({ g }, { inputs: [condition = '', a = '', b = ''], output }) => {
  g.where(condition, a, b, output);
  return (dy, [, wantsA, wantsB]) => [
    null,
    wantsA === true ? g.sumTo(g.where(condition, dy, g.scalar(0)), g.shape(a)) : null,
    wantsB === true ? g.sumTo(g.where(condition, g.scalar(0), dy), g.shape(b)) : null,
  ];
};

/** x where it is not negative, and a learnt slope times x elsewhere. */
const pRelu: OpRule = ({ g }, { inputs: [x = '', slope = ''], output }) => {
  g.binary('PRelu', x, slope, output);
  return (dy, [wantsX, wantsSlope]) => {
    const isNegative = g.compare('Less', x, g.scalar(0));
    return [
      wantsX === true ? g.where(isNegative, g.mul(dy, slope), dy) : null,
      wantsSlope === true
        ? g.sumTo(g.where(isNegative, g.mul(dy, x), g.scalar(0)), g.shape(slope))
        : null,
    ];
  };
};

/** Two inputs compared: booleans. */
const comparison: OpRule = ({ g }, { op, inputs: [a = '', b = ''], output }) => {
  g.compare(op, a, b, output);
  return noGradient;
};

/** A boolean for each element. */
const question: OpRule = ({ g }, { op, inputs: [x = ''], output, attributes }) => {
  g.op(op, [x], g.shape(x), attributes, { output, type: 'bool' });
  return noGradient;
};

/** The remainder: its slope in x is 1, and its slope in the divisor is the whole quotient, negated. */
const mod: OpRule = ({ g }, { inputs: [a = '', b = ''], output, attributes }) => {
  const shape = broadcastShape(g.shape(a), g.shape(b));
  g.op('Mod', [a, b], shape, attributes, { output, type: g.type(a) });
  return (dy, [wantsA, wantsB]) => {
    const quotient = (): string => g.div(g.sub(output, a), b);
    return [
      wantsA === true ? g.sumTo(dy, g.shape(a)) : null,
      wantsB === true ? g.sumTo(g.mul(dy, quotient()), g.shape(b)) : null,
    ];
  };
};

/** Numbers of another type. The graph computes in float32, so that other float types are float32 here. */
function converted(g: GraphBuilder, node: ForwardNode, to: ElementType): boolean {
  const [x = ''] = node.inputs;
  const type = FLOAT_TYPES.has(to) ? 'float32' : to;
  if (type === g.type(x)) g.unary('Identity', x, {}, node.output);
  else g.op('Cast', [x], g.shape(x), { to: ELEMENT_TYPES[type] }, { output: node.output, type });
  return type === 'float32' && g.type(x) === 'float32';
}

const cast: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const to = elementTypeOf(reader.number('to', ELEMENT_TYPES.float32));
  if (to === undefined || to === 'string')
    throw reader.unsupported(`it casts to ${to ?? 'an unknown type'}`);
  return converted(g, node, to) ? (dy) => [dy] : noGradient;
};

const castLike: OpRule = ({ g }, node) => {
  const to = g.type(new NodeReader(node).input(1));
  return converted(g, node, to) ? (dy) => [dy, null] : noGradient;
};

const identity: OpRule = ({ g }, { inputs: [x = ''], output }) => {
  g.unary('Identity', x, {}, output);
  return (dy) => [dy];
};

/** The rules of this file by operator. */
export const ARITHMETIC_RULES: Readonly<Record<string, OpRule>> = {
  Add: add,
  And: comparison,
  Cast: cast,
  CastLike: castLike,
  Clip: clip,
  Div: div,
  Equal: comparison,
  Greater: comparison,
  GreaterOrEqual: comparison,
  Identity: identity,
  IsInf: question,
  IsNaN: question,
  Less: comparison,
  LessOrEqual: comparison,
  Max: extreme,
  Mean: sumOrMean,
  Min: extreme,
  Mod: mod,
  Mul: mul,
  Not: question,
  Or: comparison,
  PRelu: pRelu,
  Pow: pow,
  Sub: sub,
  Sum: sumOrMean,
  Where: where,
  Xor: comparison,
};
