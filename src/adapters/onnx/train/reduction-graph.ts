/**
 * Statistics of tensors as an ONNX graph, for tensors on a device: only their few numbers come to the host, all in one
 * tensor. Sums are float32: counts are exact up to 2^24 elements, and means, variances and norms to some 1e-5 of the norm.
 * What is squared is divided by the largest element before, so that neither large nor vanishing values leave float32.
 */
import type {
  ReductionRequest,
  TensorHistogram,
  TensorSummary,
} from '../../../instruments/probes/model-source.ts';
import { sampleTensor } from '../../../kernel/tensor/sampling.ts';
import { GraphBuilder } from './graph/graph-builder.ts';

/** One reduction: of a tensor, of a difference, or the angle between two. Tensors are given by their number. */
export type Reduction =
  | { readonly kind: 'summary'; readonly tensor: number; readonly request: ReductionRequest }
  | {
      readonly kind: 'change';
      readonly after: number;
      readonly before: number;
      readonly request: ReductionRequest;
    }
  | { readonly kind: 'compare'; readonly first: number; readonly second: number };

/** The output of the graph: 1, then the numbers of all reductions, one after the other. */
export const REDUCED = 'reduced';

/** Name of the input that takes a tensor. */
export const inputName = (tensor: number): string => `tensor_${tensor}`;

const FLOAT_MAX = 3.402_823_466_385_288_6e38;

/** The model that computes `reductions` of tensors of these shapes. */
export function reductionGraph(
  shapes: readonly (readonly number[])[],
  reductions: readonly Reduction[],
): Uint8Array<ArrayBuffer> {
  const g = new GraphBuilder('reductions');
  for (const [tensor, shape] of shapes.entries()) g.input(inputName(tensor), 'float32', shape);
  const parts = reductions.flatMap((reduction) => {
    switch (reduction.kind) {
      case 'summary':
        return summaryParts(g, inputName(reduction.tensor), reduction.request);
      case 'change': {
        const before = inputName(reduction.before);
        const update = g.sub(inputName(reduction.after), before);
        const was = scaled(g, finiteOnly(g, flat(g, before)));
        return [...summaryParts(g, update, reduction.request), squareSum(g, was.values), was.scale];
      }
      case 'compare': {
        const [a, b] = [reduction.first, reduction.second].map(
          (tensor) => scaled(g, flat(g, inputName(tensor))).values,
        );
        if (a === undefined || b === undefined) return [];
        return [sum(g, g.mul(a, b)), squareSum(g, a), squareSum(g, b)];
      }
    }
  });
  // A device that fails to bind its buffers gives zeros: the first number is to be 1.
  const all = g.concat([g.floats(Float32Array.of(1), [1]), ...parts]);
  g.unary('Identity', all, {}, REDUCED);
  g.output(REDUCED);
  return g.finish();
}

/** How many numbers a reduction gives; `shape` is that of its tensor. */
export function slotCount(reduction: Reduction, shape: readonly number[]): number {
  if (reduction.kind === 'compare') return 3;
  const { unitAxis, histogram } = reduction.request;
  const units = unitAxis === null ? 0 : (shape[unitAxis] ?? 0);
  const bins = histogram === null ? 0 : histogram.bins + 3;
  return BASE_SLOTS + units + bins + (reduction.kind === 'change' ? 2 : 0);
}

/** count, scale; scaled mean, variance and sum of squares; min, max, near zero, saturated. */
const BASE_SLOTS = 9;

const flat = (g: GraphBuilder, x: string): string => g.reshape(x, [countOf(g, x)]);

const countOf = (g: GraphBuilder, x: string): number =>
  g.shape(x).reduce<number>((product, size) => product * Number(size), 1);

const sum = (g: GraphBuilder, x: string): string => g.reduce('ReduceSum', x, [0], true);

const squareSum = (g: GraphBuilder, x: string): string => sum(g, g.mul(x, x));

function isAtMost(g: GraphBuilder, x: string, bound: number): string {
  return g.op('LessOrEqual', [x, g.scalar(bound)], g.shape(x), {}, { type: 'bool' });
}

const extreme = (g: GraphBuilder, opType: 'ReduceMin' | 'ReduceMax', x: string): string =>
  g.op(opType, [x], [1], { axes: [0], keepdims: 1 });

const choose = (g: GraphBuilder, condition: string, x: string, otherwise: number): string =>
  g.op('Where', [condition, x, g.scalar(otherwise)], g.shape(x));

/** NaN compares as false with everything, infinities are larger than the bound. */
const isWithin = (g: GraphBuilder, x: string): string => isAtMost(g, g.unary('Abs', x), FLOAT_MAX);

const finiteOnly = (g: GraphBuilder, x: string): string => choose(g, isWithin(g, x), x, 0);

/** Below this a division would leave float32. */
const LEAST_SCALE = 1e-37;

/** Values divided by the largest of their sizes, and that. */
function scaled(g: GraphBuilder, x: string): { readonly values: string; readonly scale: string } {
  const largest = extreme(g, 'ReduceMax', g.unary('Abs', x));
  const isTiny = isAtMost(g, largest, LEAST_SCALE);
  const scale = g.op('Where', [isTiny, g.scalar(1), largest], [1]);
  return { values: g.div(x, scale), scale };
}

function summaryParts(g: GraphBuilder, tensor: string, request: ReductionRequest): string[] {
  const x = flat(g, tensor);
  const size = g.unary('Abs', x);
  const finite = isAtMost(g, size, FLOAT_MAX);
  const mask = g.toFloat(finite);
  const { values, scale } = scaled(g, choose(g, finite, x, 0));
  const count = sum(g, mask);
  const divisor = g.op('Max', [count, g.scalar(1)], [1]);
  const mean = g.div(sum(g, values), divisor);
  const from = g.mul(g.sub(values, mean), mask);
  const parts = [
    count,
    scale,
    mean,
    g.div(squareSum(g, from), divisor),
    squareSum(g, values),
    extreme(g, 'ReduceMin', choose(g, finite, x, FLOAT_MAX)),
    extreme(g, 'ReduceMax', choose(g, finite, x, -FLOAT_MAX)),
    sum(g, g.toFloat(isAtMost(g, size, request.epsilon))),
    saturated(g, size, mask, request.threshold),
  ];
  if (request.unitAxis !== null)
    parts.push(deadUnits(g, tensor, request.unitAxis, request.epsilon));
  if (request.histogram !== null) parts.push(...histogramParts(g, x, request.histogram));
  return parts;
}

function saturated(g: GraphBuilder, size: string, mask: string, threshold: number | null): string {
  if (threshold === null) return g.floats(Float32Array.of(0), [1]);
  const isHigh = g.op(
    'GreaterOrEqual',
    [size, g.scalar(threshold)],
    g.shape(size),
    {},
    { type: 'bool' },
  );
  return sum(g, g.mul(g.toFloat(isHigh), mask));
}

/** 1 for each unit that is near zero throughout. */
function deadUnits(g: GraphBuilder, tensor: string, unitAxis: number, epsilon: number): string {
  const shape = g.shape(tensor);
  const axes = shape.flatMap((_, axis) => (axis === unitAxis ? [] : [axis]));
  const isNear = g.toFloat(isAtMost(g, g.unary('Abs', tensor), epsilon));
  return g.op('ReduceMin', [isNear], [shape[unitAxis] ?? 1], { axes, keepdims: 0 });
}

/** Lowest edge, width and number of finite values, then the counts. */
function histogramParts(
  g: GraphBuilder,
  all: string,
  { bins, maxValues }: { readonly bins: number; readonly maxValues: number },
): string[] {
  const length = Number(g.shape(all)[0]);
  // The positions the kernels would look at.
  const picked =
    length <= maxValues
      ? undefined
      : sampleTensor(
          Int32Array.from({ length }, (_, i) => i),
          maxValues,
        );
  const x =
    picked === undefined
      ? all
      : g.op('Gather', [all, g.longs(Array.from(picked), [picked.length])], [picked.length], {
          axis: 0,
        });
  const finite = isWithin(g, x);
  const least = extreme(g, 'ReduceMin', choose(g, finite, x, FLOAT_MAX));
  const most = extreme(g, 'ReduceMax', choose(g, finite, x, -FLOAT_MAX));
  const span = g.sub(most, least);
  // Equal values lie in the middle of a range of width 1.
  const isFlat = g.sub(g.scalar(1), g.greater(span, g.scalar(0)));
  const low = g.sub(least, g.scale(isFlat, 0.5));
  const width = g.add(span, isFlat);
  const index = g.unary('Floor', g.scale(g.div(g.sub(x, low), width), bins));
  const within = g.op('Min', [index, g.scalar(bins - 1)], g.shape(x));
  const counted = g.reshape(choose(g, finite, within, -1), [1, Number(g.shape(x)[0])]);
  const numbers = g.floats(
    Float32Array.from({ length: bins }, (_, bin) => bin),
    [bins, 1],
  );
  const isIn = g.op(
    'Equal',
    [counted, numbers],
    [bins, Number(g.shape(x)[0])],
    {},
    { type: 'bool' },
  );
  return [
    low,
    width,
    sum(g, g.toFloat(finite)),
    g.reduce('ReduceSum', g.toFloat(isIn), [1], false),
  ];
}

/** What the numbers of a reduction say of a tensor of `shape`. */
export function readSummary(
  slots: Float32Array,
  shape: readonly number[],
  request: ReductionRequest,
): TensorSummary {
  const [count = 0, scale = 1, mean = 0, variance = 0, squares = 0] = slots;
  const [min = 0, max = 0, near = 0, high = 0] = slots.subarray(5);
  const elementCount = shape.reduce((product, size) => product * size, 1);
  const hasFinite = count > 0;
  const units = request.unitAxis === null ? 0 : (shape[request.unitAxis] ?? 0);
  const dead = slots.subarray(BASE_SLOTS, BASE_SLOTS + units);
  return {
    elementCount,
    nonFiniteCount: elementCount - count,
    mean: hasFinite ? mean * scale : null,
    variance: hasFinite ? variance * scale * scale : null,
    std: hasFinite ? Math.sqrt(variance) * scale : null,
    l2Norm: Math.sqrt(squares) * scale,
    min: hasFinite ? min : null,
    max: hasFinite ? max : null,
    nearZeroRatio: hasFinite ? near / count : null,
    saturatedRatio: hasFinite && request.threshold !== null ? high / count : null,
    deadUnits: request.unitAxis === null ? null : Uint8Array.from(dead),
    histogram:
      request.histogram === null
        ? null
        : readHistogram(slots.subarray(BASE_SLOTS + units), request.histogram.bins),
  };
}

function readHistogram(slots: Float32Array, bins: number): TensorHistogram {
  const [low = 0, width = 1, sampleCount = 0] = slots;
  const hasValues = sampleCount > 0;
  return {
    edges: Float64Array.from({ length: bins + 1 }, (_, i) =>
      hasValues ? low + (width * i) / bins : i / bins,
    ),
    counts: Float64Array.from(slots.subarray(3, 3 + bins)),
    sampleCount,
  };
}
