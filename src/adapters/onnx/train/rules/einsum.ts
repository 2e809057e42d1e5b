/** Sums of products, written with letters. The gradient of a factor is another such sum. */
import type { GraphBuilder, TensorShape } from '../graph/graph-builder.ts';
import { NodeReader, type OpRule } from '../graph/op-rule.ts';
import type { OpRules } from '../graph/tape.ts';

const letters = (term: string): string[] => term.split('');

/** The letters of each factor and of the result. */
type Terms = { readonly inputs: readonly string[]; readonly output: string };

const einsum: OpRule = ({ g }, node) => {
  const reader = new NodeReader(node);
  const equation = reader.text('equation', '').replaceAll(' ', '');
  const names = node.inputs;
  const ranks = names.map((name) => g.shape(name).length);
  const terms = termsOf(reader, equation, ranks);
  const sizes = sizesOf(g, reader, terms, names);
  const made = letters(terms.output).map((letter) => sizes.get(letter) ?? 1);
  g.op('Einsum', names, made, { equation: written(terms) }, { output: node.output });
  return (dy, wants) =>
    names.map((_, index) =>
      wants[index] === true ? factorGradient(g, terms, sizes, { names, dy, index }) : null,
    );
};

const written = ({ inputs, output }: Terms): string => `${inputs.join()}->${output}`;

/** Letters stand for the axes of "..." too, and for the result where the equation does not say it. */
function termsOf(reader: NodeReader, equation: string, ranks: readonly number[]): Terms {
  const [left = '', right] = equation.split('->');
  const factors = left.split(',');
  if (factors.length !== ranks.length || !/^[a-zA-Z,.]*$/.test(left))
    throw reader.invalid('equation', equation, `a term for each of ${ranks.length} inputs`);
  const free = letters('ABCDEFGHIJKLMNOPQRSTUVWXYZ').filter((letter) => !equation.includes(letter));
  const dots = Math.max(
    0,
    ...factors.map((term, i) => (term.includes('...') ? (ranks[i] ?? 0) - (term.length - 3) : 0)),
  );
  const spelled = (term: string, rank?: number): string => {
    const count = rank === undefined ? dots : rank - (term.length - 3);
    return term.replace('...', free.slice(dots - count, dots).join(''));
  };
  const inputs = factors.map((term, i) => (term.includes('...') ? spelled(term, ranks[i]) : term));
  for (const [i, term] of inputs.entries()) {
    if (term.length !== ranks[i])
      throw reader.invalid('equation', equation, 'a letter for each axis');
    if (new Set(term).size !== term.length)
      throw reader.unsupported('a letter stands twice in one of its terms');
  }
  const all = inputs.join('');
  const once = [...new Set(all)]
    .filter((letter) => all.split(letter).length === 2)
    .sort()
    .join('');
  const output = right === undefined ? once : right.includes('...') ? spelled(right) : right;
  return { inputs, output };
}

function sizesOf(
  g: GraphBuilder,
  reader: NodeReader,
  { inputs }: Terms,
  names: readonly string[],
): ReadonlyMap<string, number | string> {
  const sizes = new Map<string, number | string>();
  for (const [i, term] of inputs.entries())
    for (const [axis, letter] of letters(term).entries()) {
      const size = g.shape(names[i] ?? '')[axis] ?? 1;
      const known = sizes.get(letter);
      if (known !== undefined && known !== size)
        throw reader.unsupported(`"${letter}" stands for axes of different sizes`);
      sizes.set(letter, size);
    }
  return sizes;
}

/** The sum of products of `dy` with the other factors; axes that only this factor has are repeated. */
function factorGradient(
  g: GraphBuilder,
  { inputs, output }: Terms,
  sizes: ReadonlyMap<string, number | string>,
  {
    names,
    dy,
    index,
  }: { readonly names: readonly string[]; readonly dy: string; readonly index: number },
): string {
  const own = inputs[index] ?? '';
  const others = inputs.filter((_, i) => i !== index);
  const known = new Set([output, ...others].join(''));
  const reached = letters(own).filter((letter) => known.has(letter));
  const shape: TensorShape = reached.map((letter) => sizes.get(letter) ?? 1);
  const equation = written({ inputs: [output, ...others], output: reached.join('') });
  const factors = [dy, ...names.filter((_, i) => i !== index)];
  const gradient = g.op('Einsum', factors, shape, { equation });
  if (reached.length === own.length) return gradient;
  const aligned = letters(own).map((letter) => (known.has(letter) ? (sizes.get(letter) ?? 1) : 1));
  return g.expandLike(g.reshape(gradient, aligned), names[index] ?? '');
}

/** The rules of this file by operator. */
export const EINSUM_RULES: OpRules = { Einsum: einsum };
