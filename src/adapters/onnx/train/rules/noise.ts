/** Dropout: Srivastava and others, Dropout, 2014, with the scale in training, so that inference changes nothing. */
import { noGradient, NodeReader, type OpRule } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';

/** The share that is dropped where a file does not say. */
const DEFAULT_RATIO = 0.5;

const dropout: OpRule = (context, node) => {
  const { g, mode } = context;
  const reader = new NodeReader(node);
  const x = reader.input(0);
  const input = reader.optionalInput(1);
  const given = input === undefined ? undefined : context.constantOrNone(input);
  const rate = given?.[0] ?? reader.number('ratio', DEFAULT_RATIO);
  if (!(rate >= 0 && rate < 1)) throw reader.invalid('ratio', rate, 'at least 0 and less than 1');
  const [, mask = ''] = node.outputs ?? [];
  if (mask !== '') throw reader.unsupported('its mask is used');
  if (mode === 'inference') {
    g.unary('Identity', x, {}, node.output);
    return noGradient;
  }
  if (rate === 0) {
    g.unary('Identity', x, {}, node.output);
    return (dy) => [dy];
  }
  const noise = context.noise(x, rate);
  g.binary('Mul', x, noise, node.output);
  return (dy) => [g.mul(dy, noise)];
};

/** The rules of this file by operator. */
export const NOISE_RULES: OpRules = { Dropout: dropout };
