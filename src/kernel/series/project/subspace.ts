/** Subspace iteration with Rayleigh-Ritz steps, over any way to multiply by the scatter matrix. */
import type { CentredRows, PrincipalComponents } from './project.ts';

/** Of `width` vectors the sums over rows of (row times the scalar product of row and vector): `[width, dimensions]`. */
export type GramStep = (basis: Float64Array, width: number) => Float64Array;

/** Vectors beyond those asked for: they make it converge where variances are near to each other. */
const SPARE = 6;
const MAX_STEPS = 300;
const TOLERANCE = 1e-10;

/** The components of rows. */
export function findComponents(rows: CentredRows, gram: GramStep): PrincipalComponents {
  const { components, count, dimensions, means, unit } = rows;
  const width = Math.min(dimensions, components + SPARE);
  let basis = startBasis(width, dimensions);
  orthonormalise(basis, width, dimensions);
  let before: readonly number[] = [];
  let values: readonly number[] = [];
  for (let step = 0; step < MAX_STEPS; step++) {
    const image = gram(basis, width);
    const ritz = ritzPairs(basis, image, width, dimensions);
    values = ritz.values;
    const isDone =
      width === dimensions || isSettled(values.slice(0, components), before.slice(0, components));
    basis = combine(isDone ? basis : image, ritz.vectors, width, dimensions);
    if (isDone) break;
    orthonormalise(basis, width, dimensions);
    before = values;
  }
  const directions = basis.slice(0, components * dimensions);
  orient(directions, components, dimensions);
  return {
    componentCount: components,
    directions,
    variances: Float64Array.from({ length: components }, (_, i) =>
      Math.max(0, ((values[i] ?? 0) / count) * unit * unit),
    ),
    totalVariance: (sumOfSquares(rows.rows) / count) * unit * unit,
    means,
    positions: positionsOf(rows, directions),
  };
}

function isSettled(values: readonly number[], before: readonly number[]): boolean {
  const size = Math.max(values[0] ?? 0, Number.MIN_VALUE);
  return values.every((value, i) => Math.abs(value - (before[i] ?? Infinity)) <= TOLERANCE * size);
}

function sumOfSquares(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}

/** Numbers of a fixed sequence. */
function startBasis(width: number, dimensions: number): Float64Array {
  let state = 12_345;
  return Float64Array.from({ length: width * dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** Gram-Schmidt, twice; a vector that vanishes is replaced by one of the axes. */
function orthonormalise(basis: Float64Array, width: number, dimensions: number): void {
  let axis = 0;
  for (let j = 0; j < width; j++) {
    const vector = basis.subarray(j * dimensions, (j + 1) * dimensions);
    for (;;) {
      const length = Math.sqrt(sumOfSquares(vector));
      if (length > 0) for (let d = 0; d < dimensions; d++) vector[d] = (vector[d] ?? 0) / length;
      for (let pass = 0; pass < 2; pass++)
        for (let i = 0; i < j; i++) {
          const other = basis.subarray(i * dimensions, (i + 1) * dimensions);
          addScaled(vector, other, -scalarProduct(vector, other));
        }
      const left = Math.sqrt(sumOfSquares(vector));
      if (left > 1e-8 || axis >= dimensions) {
        for (let d = 0; d < dimensions; d++) vector[d] = left > 0 ? (vector[d] ?? 0) / left : 0;
        break;
      }
      vector.fill(0);
      vector[axis++] = 1;
    }
  }
}

/** The scalar product, in the order in which the kernel adds. */
export function scalarProduct(a: Float64Array, b: Float64Array): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  const end = a.length & ~3;
  for (let at = 0; at < end; at += 4) {
    first += (a[at] ?? 0) * (b[at] ?? 0);
    second += (a[at + 1] ?? 0) * (b[at + 1] ?? 0);
    third += (a[at + 2] ?? 0) * (b[at + 2] ?? 0);
    fourth += (a[at + 3] ?? 0) * (b[at + 3] ?? 0);
  }
  let sum = first + third + (second + fourth);
  for (let at = end; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** Adds a multiple of `b` to `a`. */
export function addScaled(a: Float64Array, b: Float64Array, factor: number): void {
  for (let at = 0; at < a.length; at++) a[at] = (a[at] ?? 0) + (b[at] ?? 0) * factor;
}

type Pairs = { readonly values: readonly number[]; readonly vectors: readonly Float64Array[] };

/** Eigenpairs of the scatter matrix within the subspace, the largest first. */
function ritzPairs(
  basis: Float64Array,
  image: Float64Array,
  width: number,
  dimensions: number,
): Pairs {
  const row = (of: Float64Array, at: number): Float64Array =>
    of.subarray(at * dimensions, (at + 1) * dimensions);
  const matrix = Array.from({ length: width }, (_, i) =>
    Float64Array.from({ length: width }, (__, j) => {
      const [low, high] = i < j ? [i, j] : [j, i];
      return scalarProduct(row(basis, low), row(image, high));
    }),
  );
  return symmetricPairs(matrix);
}

const MAX_SWEEPS = 60;

/** Eigenpairs of a small symmetric matrix, by Jacobi rotations. */
function symmetricPairs(matrix: readonly Float64Array[]): Pairs {
  const size = matrix.length;
  const vectors = matrix.map((_row, i) =>
    Float64Array.from({ length: size }, (_, j) => (i === j ? 1 : 0)),
  );
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    let off = 0;
    let all = 0;
    for (let i = 0; i < size; i++)
      for (let j = 0; j < size; j++) {
        const square = (matrix[i]?.[j] ?? 0) ** 2;
        all += square;
        if (i !== j) off += square;
      }
    if (off <= all * 1e-32) break;
    for (let p = 0; p < size; p++) for (let q = p + 1; q < size; q++) rotate(matrix, vectors, p, q);
  }
  const order = [...vectors.keys()].toSorted(
    (a, b) => (matrix[b]?.[b] ?? 0) - (matrix[a]?.[a] ?? 0) || a - b,
  );
  return {
    values: order.map((i) => matrix[i]?.[i] ?? 0),
    vectors: order.map((i) => vectors[i] ?? new Float64Array(size)),
  };
}

function rotate(
  matrix: readonly Float64Array[],
  vectors: readonly Float64Array[],
  p: number,
  q: number,
): void {
  const [first, second] = [matrix[p], matrix[q]];
  const [one, other] = [vectors[p], vectors[q]];
  const apart = first?.[q] ?? 0;
  if (!first || !second || !one || !other || apart === 0) return;
  const theta = ((second[q] ?? 0) - (first[p] ?? 0)) / (2 * apart);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
  const cosine = 1 / Math.hypot(tangent, 1);
  const sine = tangent * cosine;
  turnPair(one, other, cosine, sine);
  turnPair(first, second, cosine, sine);
  for (const row of matrix) {
    const [a, b] = [row[p] ?? 0, row[q] ?? 0];
    row[p] = cosine * a - sine * b;
    row[q] = sine * a + cosine * b;
  }
}

function turnPair(a: Float64Array, b: Float64Array, cosine: number, sine: number): void {
  for (const [i, value] of a.entries()) {
    const other = b[i] ?? 0;
    a[i] = cosine * value - sine * other;
    b[i] = sine * value + cosine * other;
  }
}

/** Sums of the vectors of a basis with these weights. */
function combine(
  basis: Float64Array,
  weights: readonly Float64Array[],
  width: number,
  dimensions: number,
): Float64Array {
  const result = new Float64Array(width * dimensions);
  for (const [j, list] of weights.entries()) {
    const target = result.subarray(j * dimensions, (j + 1) * dimensions);
    for (const [i, weight] of list.entries())
      addScaled(target, basis.subarray(i * dimensions, (i + 1) * dimensions), weight);
  }
  return result;
}

function orient(directions: Float64Array, components: number, dimensions: number): void {
  for (let j = 0; j < components; j++) {
    const vector = directions.subarray(j * dimensions, (j + 1) * dimensions);
    let largest = 0;
    for (const value of vector) if (Math.abs(value) > Math.abs(largest)) largest = value;
    if (largest < 0) for (const [d, value] of vector.entries()) vector[d] = -value;
  }
}

function positionsOf(
  { components, count, dimensions, rows, unit }: CentredRows,
  directions: Float64Array,
): Float64Array {
  const positions = new Float64Array(count * components);
  for (let i = 0; i < count; i++) {
    const row = rows.subarray(i * dimensions, (i + 1) * dimensions);
    for (let j = 0; j < components; j++)
      positions[i * components + j] =
        unit * scalarProduct(row, directions.subarray(j * dimensions, (j + 1) * dimensions));
  }
  return positions;
}
