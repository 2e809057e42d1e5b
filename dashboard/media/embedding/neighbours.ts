/** The vectors that are nearest to one of them, and the labels that vectors have. Pure. */
import type { MediaContent } from 'quark-sdk/media';
import { countBy } from '../../parts/maps.ts';

type Vectors = Pick<MediaContent['embedding'], 'vectors' | 'dimensions'>;

/** How far vectors are from each other: 1 minus the cosine of their angle, or along a straight line. */
export const VECTOR_DISTANCES = ['cosine', 'euclidean'] as const;
/** One of {@link VECTOR_DISTANCES}. */
export type VectorDistance = (typeof VECTOR_DISTANCES)[number];

/** A vector near to another. */
export type Neighbour = { readonly index: number; readonly distance: number };

/** The nearest others, the nearest first; of equally near ones those with the lower index. */
export function nearestVectors(
  { dimensions, vectors }: Vectors,
  index: number,
  most: number,
  kind: VectorDistance,
): readonly Neighbour[] {
  const count = vectors.length / dimensions;
  const found: Neighbour[] = [];
  for (let other = 0; other < count; other += 1) {
    if (other === index) continue;
    const distance = distanceOf({ dimensions, vectors }, index, other, kind);
    const last = found.at(-1);
    if (found.length === most && last !== undefined && distance >= last.distance) continue;
    const at = found.findIndex((one) => one.distance > distance);
    found.splice(at < 0 ? found.length : at, 0, { index: other, distance });
    found.length = Math.min(found.length, most);
  }
  return found;
}

function distanceOf(
  { dimensions, vectors }: Vectors,
  first: number,
  second: number,
  kind: VectorDistance,
): number {
  let product = 0;
  let firstSquare = 0;
  let secondSquare = 0;
  let apart = 0;
  for (let d = 0; d < dimensions; d += 1) {
    const a = vectors[first * dimensions + d] ?? 0;
    const b = vectors[second * dimensions + d] ?? 0;
    product += a * b;
    firstSquare += a * a;
    secondSquare += b * b;
    apart += (a - b) ** 2;
  }
  if (kind === 'euclidean') return Math.sqrt(apart);
  const length = Math.sqrt(firstSquare * secondSquare);
  return length === 0 ? 1 : Math.max(0, 1 - product / length);
}

/** Labels with a colour of their own. */
const MAX_COLORED = 8;

/** The most frequent labels, and of each vector which of them it has; -1 for any other. */
export type LabelGroups = {
  readonly labels: readonly { readonly text: string; readonly count: number }[];
  readonly groupOf: Int16Array;
};

/** Groups of labels. */
export function labelGroups(labels: readonly string[] | null, count: number): LabelGroups {
  if (labels === null) return { labels: [], groupOf: new Int16Array(count).fill(-1) };
  const counts = [...countBy(labels, (label) => label)].toSorted(
    ([a, first], [b, second]) => second - first || (a < b ? -1 : 1),
  );
  const shown = counts.slice(0, MAX_COLORED).map(([text, size]) => ({ text, count: size }));
  const at = new Map(shown.map(({ text }, group) => [text, group]));
  return { labels: shown, groupOf: Int16Array.from(labels, (label) => at.get(label) ?? -1) };
}
