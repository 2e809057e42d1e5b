/** Parts of a value along one axis: cut out, turned round, and put back between zeros. */
import type { GraphBuilder, TensorShape } from './graph-builder.ts';

/** ONNX's "to the end" of an axis. */
export const TO_END = 2 ** 31 - 1;

/** A position: a number, or a list of one int64 in the graph. */
type Position = number | string;

const listOf = (g: GraphBuilder, position: Position): string =>
  typeof position === 'number' ? g.integers([position]) : position;

/** `a` from `start` to `end` along an axis, `size` long. Negative positions count from the end. */
export function part(
  g: GraphBuilder,
  a: string,
  axis: number,
  start: Position,
  {
    end,
    size,
    step = 1,
  }: { readonly end: Position; readonly size: number | string; readonly step?: number },
): string {
  const shape = g.shape(a).map((length, at) => (at === axis ? size : length));
  return g.op(
    'Slice',
    [a, listOf(g, start), listOf(g, end), g.integers([axis]), g.integers([step])],
    shape,
    {},
    { type: g.type(a) },
  );
}

/** `a` with zeros before and behind it along an axis, to a shape. */
export function padded(
  g: GraphBuilder,
  a: string,
  axis: number,
  [before, behind]: readonly [before: Position, behind: Position],
  shape: TensorShape,
): string {
  const rank = shape.length;
  const sides = (count: Position): string[] =>
    Array.from({ length: rank }, (_, at) => (at === axis ? listOf(g, count) : g.integers([0])));
  const pads =
    typeof before === 'number' && typeof behind === 'number'
      ? g.integers([
          ...shape.map((_, at) => (at === axis ? before : 0)),
          ...shape.map((_, at) => (at === axis ? behind : 0)),
        ])
      : g.concat([...sides(before), ...sides(behind)], 'int64');
  return g.op('Pad', [a, pads, g.scalar(0)], shape, { mode: 'constant' });
}

/** `a` in the opposite order along an axis. */
export function reversed(g: GraphBuilder, a: string, axis: number): string {
  const size = g.shape(a)[axis] ?? 1;
  return part(g, a, axis, -1, { end: -(2 ** 31), size, step: -1 });
}
