/** The bins of histograms: how many there are, where their edges lie, and how histograms of the same bins merge. */
import { invalidInput } from '../../base/errors.ts';
import type { HistogramSettings, LogSettings, UniformSettings } from './checks.ts';
import type { Histogram, ValueRange } from '../kernel.ts';
import {
  HISTOGRAM_NAN,
  HISTOGRAM_NEGATIVE_INFINITY,
  HISTOGRAM_POSITIVE_INFINITY,
  HISTOGRAM_ZERO,
} from './layout.ts';

/** Bins of magnitudes in whole numbers. */
export type LogShape = {
  /** log2 of the smallest magnitude. */
  readonly first: number;
  readonly octaves: number;
  /** log2 of the bins an octave. */
  readonly steps: number;
  /** Bins of either sign. */
  readonly side: number;
};

/** Settings whose bins are known, as those of uniform bins are once there is a range. */
export type PlacedSettings = LogSettings | (UniformSettings & { readonly range: ValueRange });

/** The bins that settings ask for, in whole numbers. */
export function logShape({
  magnitudes: { min, max },
  binsPerOctave,
}: Pick<LogSettings, 'magnitudes' | 'binsPerOctave'>): LogShape {
  const first = Math.round(Math.log2(min));
  const octaves = Math.round(Math.log2(max)) - first;
  return {
    first,
    octaves,
    steps: Math.round(Math.log2(binsPerOctave)),
    side: octaves * binsPerOctave,
  };
}

/** How many bins settings ask for. */
export function binCount(settings: HistogramSettings): number {
  return settings.scale === 'uniform' ? settings.bins : 2 * logShape(settings).side + 1;
}

/** Cells (underflow, bins, overflow) and the counts beside them, as a result. */
export function histogramFromCells(
  elementCount: number,
  cells: Float64Array,
  beside: Float64Array,
  settings: PlacedSettings,
): Histogram {
  const bins = binCount(settings);
  const isUniform = settings.scale === 'uniform';
  return {
    scale: settings.scale,
    min: isUniform ? settings.range.min : -settings.magnitudes.max,
    max: isUniform ? settings.range.max : settings.magnitudes.max,
    magnitudes: isUniform ? null : settings.magnitudes,
    binsPerOctave: isUniform ? null : settings.binsPerOctave,
    counts: cells.slice(1, bins + 1),
    elementCount,
    sampledCount: elementCount,
    underflowCount: cells[0] ?? 0,
    overflowCount: cells[bins + 1] ?? 0,
    nanCount: beside[HISTOGRAM_NAN] ?? 0,
    positiveInfinityCount: beside[HISTOGRAM_POSITIVE_INFINITY] ?? 0,
    negativeInfinityCount: beside[HISTOGRAM_NEGATIVE_INFINITY] ?? 0,
    zeroCount: beside[HISTOGRAM_ZERO] ?? 0,
  };
}

/**
 * The histogram of the parts taken together, exactly. Parts that are samples count with as many values as were looked at, not with
 * as many as they stand for.
 *
 * @param parts one or more, with the same bins: scale, range and number, or magnitudes and bins an octave
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { createKernels, mergeHistograms } from 'quark-sdk/kernels';
 *
 * const kernels = await createKernels();
 * const options = { bins: 2, range: { min: 0, max: 1 } };
 * const parts = [[0.1, 0.2], [0.3, 0.9]].map((part) => kernels.inline.histogram(new Float32Array(part), options));
 * const merged = mergeHistograms(parts);
 * console.log(merged.counts, merged.elementCount); // Float64Array(2) [ 3, 1 ] 4
 * await kernels.close();
 * ```
 */
export function mergeHistograms(parts: readonly Histogram[]): Histogram {
  const [first, ...rest] = parts;
  if (first === undefined) throw invalidInput('parts', parts, 'one part or more');
  const counts = first.counts.slice();
  for (const part of rest) {
    if (describeBins(part) !== describeBins(first))
      throw invalidInput(
        'parts',
        describeBins(part),
        `histograms with the same bins (${describeBins(first)})`,
      );
    for (let bin = 0; bin < counts.length; bin++)
      counts[bin] = (counts[bin] ?? 0) + (part.counts[bin] ?? 0);
  }
  const total = (of: (part: Histogram) => number): number =>
    parts.reduce((sum, part) => sum + of(part), 0);
  return {
    ...first,
    counts,
    elementCount: total((part) => part.elementCount),
    sampledCount: total((part) => part.sampledCount),
    underflowCount: total((part) => part.underflowCount),
    overflowCount: total((part) => part.overflowCount),
    nanCount: total((part) => part.nanCount),
    positiveInfinityCount: total((part) => part.positiveInfinityCount),
    negativeInfinityCount: total((part) => part.negativeInfinityCount),
    zeroCount: total((part) => part.zeroCount),
  };
}

function describeBins({ scale, counts, min, max, magnitudes }: Histogram): string {
  const nearest = magnitudes === null ? '' : ` from magnitude ${magnitudes.min}`;
  return `${scale}, ${counts.length} bins over ${min} to ${max}${nearest}`;
}

/**
 * The `bins + 1` edges of the bins, ascending, from `min` to `max`; those of magnitudes are exact.
 *
 * @example
 * ```js
 * import { createKernels, histogramEdges } from 'quark-sdk/kernels';
 *
 * const kernels = await createKernels();
 * const histogram = kernels.inline.histogram(new Float32Array([0, 0.2, 0.9]), { bins: 4, range: { min: 0, max: 1 } });
 * console.log(histogramEdges(histogram)); // Float64Array(5) [ 0, 0.25, 0.5, 0.75, 1 ]
 * await kernels.close();
 * ```
 */
export function histogramEdges(histogram: Histogram): Float64Array {
  const { counts, magnitudes, binsPerOctave, min, max } = histogram;
  const bins = counts.length;
  if (magnitudes !== null && binsPerOctave !== null)
    return magnitudeEdges({ magnitudes, binsPerOctave });
  const width = (max - min) / bins;
  return Float64Array.from({ length: bins + 1 }, (_, i) => (i === bins ? max : min + i * width));
}

function magnitudeEdges(settings: Pick<LogSettings, 'magnitudes' | 'binsPerOctave'>): Float64Array {
  const { binsPerOctave } = settings;
  const { first, side } = logShape(settings);
  const edges = new Float64Array(2 * side + 2);
  for (let i = 0; i <= side; i++) {
    const octave = Math.floor(i / binsPerOctave);
    const edge = 2 ** (first + octave) * (1 + (i % binsPerOctave) / binsPerOctave);
    edges[side + 1 + i] = edge;
    edges[side - i] = -edge;
  }
  return edges;
}
