/**
 * The numbers of one probed step. Small tensors in host memory are reduced at once, as long as that takes little time;
 * larger ones are retained and reduced later, in slices, by the workers; tensors on a device are reduced there and read
 * back once. The training loop waits for none of it.
 */
import { QuarkError } from '../base/errors.ts';
import { nextTask } from '../base/next-task.ts';
import type { TensorData } from '../kernel/kernel.ts';
import type { Kernels } from '../kernel/kernels.ts';
import { mergeTensorPairStats, mergeTensorStats } from '../kernel/results.ts';
import type {
  DeviceBatch,
  DeviceResult,
  ModelSource,
  ReductionRequest,
  RetainedTensor,
  TensorRef,
  TensorSummary,
} from './model-source.ts';
import {
  copyOf,
  deadUnitsOf,
  differenceOf,
  histogramOf,
  isFloat,
  sizeOf,
  statsNow,
  summaryOf,
  typeOption,
} from './reductions.ts';
import type { KernelAccess } from './shared-kernels.ts';

/** What was found of a change. */
export type ChangeSummary = { readonly update: TensorSummary; readonly beforeNorm: number };

/**
 * Longest time a probe may take of a step, in nanoseconds, by the figures below: by those of a clock, what is recorded would
 * depend on what else the machine is doing.
 */
const INLINE_NS = 1.2e6;
/** Tensors with more elements never are reduced on the training thread. */
const MAX_INLINE_LENGTH = 1 << 18;
/** Elements taken at a time, later. */
const SLICE_LENGTH = 1 << 17;
const SLICE_MS = 1;
/** Nanoseconds an element takes, as measured on one core of 2023, and those of any call. */
const STATS_NS = 0.4;
const HISTOGRAM_NS = 2;
const CHANGE_NS = 2.5;
const CALL_NS = 5_000;

type Later = {
  readonly tensors: readonly TensorRef[];
  readonly run: (kernels: Kernels, pause: () => Promise<void>) => Promise<void>;
};

export class ProbeWork {
  readonly #kernels: KernelAccess;
  readonly #source: ModelSource;
  readonly #now: () => number;
  #spentMs = 0;
  #inlineNs = 0;
  #later: Later[] = [];
  #batch: DeviceBatch | undefined;
  #deviceDone: ((result: DeviceResult) => void)[] = [];
  #isDiscarded = false;

  constructor(kernels: KernelAccess, source: ModelSource, now: () => number) {
    this.#kernels = kernels;
    this.#source = source;
    this.#now = now;
  }

  /** Milliseconds of the training thread so far. */
  get spentMs(): number {
    return this.#spentMs;
  }

  /** Reduces a tensor; `done` is told, now or later. */
  summarize(
    tensor: TensorRef,
    request: ReductionRequest,
    done: (summary: TensorSummary) => void,
  ): void {
    const began = this.#now();
    const { data } = tensor;
    if (data === undefined) {
      this.#onDevice((batch) => batch.summarize(tensor, request), 'summary', done);
    } else if (this.#fits(data.length, STATS_NS + histogramNs(data.length, request))) {
      done(this.#summarizeNow(tensor, data, request));
    } else {
      const kept = retain(tensor, data);
      this.#later.push({
        tensors: [kept],
        run: async (kernels, pause) => done(await summarizeLater(kernels, kept, request, pause)),
      });
    }
    this.#spentMs += this.#now() - began;
  }

  /** Reduces `after - before`. Tensors of different places or without differences are left out: `done` is not told. */
  change(
    after: TensorRef,
    before: TensorRef,
    request: ReductionRequest,
    done: (change: ChangeSummary) => void,
  ): void {
    const began = this.#now();
    const now = after.data;
    const was = before.data;
    if (now === undefined && was === undefined) {
      this.#onDevice(
        (batch) => batch.summarizeChange(after, before, request),
        'summary',
        (update, { beforeNorm }) => done({ update, beforeNorm: beforeNorm ?? 0 }),
      );
    } else if (
      now !== undefined &&
      was !== undefined &&
      isFloat(now) &&
      now.length === was.length
    ) {
      if (this.#fits(now.length, CHANGE_NS + histogramNs(now.length, request))) {
        const { update, beforeSquares } = differenceOf(now, was, 0, now.length);
        const ref = { shape: after.shape, dtype: after.dtype, data: update };
        const summary = this.#summarizeNow(ref, update, request);
        done({ update: summary, beforeNorm: Math.sqrt(beforeSquares) });
      } else {
        const tensors = [retain(after, now), retain(before, was)] as const;
        this.#later.push({
          tensors,
          run: async (kernels, pause) =>
            done(await changeLater(kernels, tensors[0], tensors[1], request, pause)),
        });
      }
    }
    this.#spentMs += this.#now() - began;
  }

  /** The cosine of the angle between two tensors, null when one is all zero; `done` is told unless there is none. */
  cosine(first: TensorRef, second: TensorRef, done: (cosine: number | null) => void): void {
    const began = this.#now();
    const a = first.data;
    const b = second.data;
    if (a === undefined && b === undefined) {
      this.#onDevice((batch) => batch.compare(first, second), 'cosine', done);
    } else if (a !== undefined && b !== undefined && isFloat(a) && isFloat(b)) {
      if (a.length !== b.length || a.constructor !== b.constructor) return;
      if (this.#fits(a.length, STATS_NS)) {
        done(finiteOrNull(this.#kernels.inline.tensorPairStats(a, b).cosine));
      } else {
        const tensors = [retain(first, a), retain(second, b)] as const;
        this.#later.push({
          tensors,
          run: async (kernels, pause) =>
            done(await cosineLater(kernels, tensors[0], tensors[1], pause)),
        });
      }
    }
    this.#spentMs += this.#now() - began;
  }

  /** Undefined when everything has been told already, else the end of the rest. */
  finish(): Promise<void> | undefined {
    if (this.#batch === undefined && this.#later.length === 0) return undefined;
    return this.#finishLater();
  }

  /** Gives up what has not been told yet. */
  discard(): void {
    this.#isDiscarded = true;
    this.#batch?.discard();
    this.#batch = undefined;
    for (const { tensors } of this.#later) tensors.forEach(release);
    this.#later = [];
  }

  async #finishLater(): Promise<void> {
    const batch = this.#batch;
    const reading = batch === undefined ? undefined : this.#readBack(batch);
    // Told of below; until then the loop over the others must not make it an unhandled one.
    reading?.catch(() => undefined);
    try {
      if (this.#later.length > 0) {
        const kernels = await this.#kernels.loaded;
        for (let work = this.#later[0]; work !== undefined; work = this.#later[0]) {
          await work.run(kernels, this.#slices());
          if (this.#isDiscarded) return;
          this.#later.shift();
          work.tensors.forEach(release);
        }
      }
      await reading;
    } finally {
      if (!this.#isDiscarded) this.discard();
    }
  }

  async #readBack(batch: DeviceBatch): Promise<void> {
    const results = await batch.read();
    this.#batch = undefined;
    if (this.#isDiscarded) return;
    results.forEach((result, i) => this.#deviceDone[i]?.(result));
  }

  /** Lets other tasks run as soon as a slice has lasted its time; counts the time. */
  #slices(): () => Promise<void> {
    let began = this.#now();
    return async () => {
      const spent = this.#now() - began;
      if (spent < SLICE_MS) return;
      this.#spentMs += spent;
      await nextTask();
      if (this.#isDiscarded) throw new QuarkError('aborted', 'The probe was given up.');
      began = this.#now();
    };
  }

  #onDevice<K extends 'summary' | 'cosine'>(
    add: (batch: DeviceBatch) => void,
    wanted: K,
    done: (value: NonNullable<DeviceResult[K]>, result: DeviceResult) => void,
  ): void {
    const batch = (this.#batch ??= this.#source.openBatch?.());
    if (batch === undefined)
      throw new QuarkError(
        'unsupported',
        `A tensor of ${this.#source.framework} is not in host memory, and its source cannot reduce on a device.`,
      );
    add(batch);
    this.#deviceDone.push((result) => {
      const value = result[wanted];
      if (value !== null) done(value, result);
    });
  }

  #fits(length: number, elementNs: number): boolean {
    const ns = this.#inlineNs + CALL_NS + length * elementNs;
    if (length > MAX_INLINE_LENGTH || ns > INLINE_NS) return false;
    this.#inlineNs = ns;
    return true;
  }

  #summarizeNow(tensor: TensorRef, data: TensorData, request: ReductionRequest): TensorSummary {
    const { inline } = this.#kernels;
    const { histogram } = request;
    const stats = statsNow(inline, data, tensor.dtype, request);
    return summaryOf(
      stats,
      unitsOf(tensor, data, request),
      histogram === null
        ? null
        : histogramOf(inline, data, tensor.dtype, histogram.bins, histogram.maxValues),
    );
  }
}

async function summarizeLater(
  kernels: Kernels,
  tensor: TensorRef,
  request: ReductionRequest,
  pause: () => Promise<void>,
): Promise<TensorSummary> {
  const { epsilon, threshold, histogram } = request;
  const parts = await eachSlice(sizeOf(tensor.shape), pause, (from, to) => {
    // Asked for anew each time: the memory of a WebAssembly backend may have moved.
    const data = dataOf(tensor);
    const options = { epsilon, threshold, ...typeOption(data, tensor.dtype) };
    return kernels.tensorStats(data.subarray(from, to), options);
  });
  const data = dataOf(tensor);
  const units = unitsOf(tensor, data, request);
  const bins =
    histogram === null
      ? null
      : histogramOf(kernels.inline, data, tensor.dtype, histogram.bins, histogram.maxValues);
  return summaryOf(mergeTensorStats(parts), units, bins);
}

async function changeLater(
  kernels: Kernels,
  after: TensorRef,
  before: TensorRef,
  request: ReductionRequest,
  pause: () => Promise<void>,
): Promise<ChangeSummary> {
  const { epsilon, threshold, histogram } = request;
  let squares = 0;
  const length = sizeOf(after.shape);
  const sample: number[] = [];
  // Whole slices give the sample its even spread.
  const pace = histogram === null ? 0 : Math.max(1, length / histogram.maxValues);
  let nextSample = 0;
  const parts = await eachSlice(length, pause, (from, to) => {
    const { update, beforeSquares } = differenceOf(dataOf(after), dataOf(before), from, to);
    squares += beforeSquares;
    if (histogram !== null) {
      for (; nextSample < to; nextSample += pace)
        sample.push(update[Math.floor(nextSample) - from] ?? 0);
    }
    return kernels.tensorStats(update, { epsilon, threshold });
  });
  const bins =
    histogram === null
      ? null
      : histogramOf(
          kernels.inline,
          Float64Array.from(sample),
          after.dtype,
          histogram.bins,
          histogram.maxValues,
        );
  return {
    update: summaryOf(mergeTensorStats(parts), null, bins),
    beforeNorm: Math.sqrt(squares),
  };
}

async function cosineLater(
  kernels: Kernels,
  first: TensorRef,
  second: TensorRef,
  pause: () => Promise<void>,
): Promise<number | null> {
  const parts = await eachSlice(sizeOf(first.shape), pause, (from, to) => {
    const a = dataOf(first);
    const b = dataOf(second);
    if (!isFloat(a) || !isFloat(b))
      throw new QuarkError('probe_failed', 'A tensor changed its type before it was reduced.');
    return kernels.tensorPairStats(a.subarray(from, to), b.subarray(from, to));
  });
  return finiteOrNull(mergeTensorPairStats(parts).cosine);
}

async function eachSlice<T>(
  length: number,
  pause: () => Promise<void>,
  work: (from: number, to: number) => Promise<T>,
): Promise<T[]> {
  const parts: Promise<T>[] = [];
  for (let from = 0; from === 0 || from < length; from += SLICE_LENGTH) {
    await pause();
    const part = work(from, Math.min(length, from + SLICE_LENGTH));
    // All are waited for below; one that fails before is not an unhandled one.
    part.catch(() => undefined);
    parts.push(part);
  }
  return Promise.all(parts);
}

function unitsOf(
  tensor: TensorRef,
  data: TensorData,
  { unitAxis, epsilon }: ReductionRequest,
): Uint8Array | null {
  // The bits of half floats are not their values.
  if (unitAxis === null || data instanceof Uint16Array) return null;
  return deadUnitsOf(data, tensor.shape, unitAxis, epsilon);
}

function histogramNs(length: number, { histogram }: ReductionRequest): number {
  return histogram === null ? 0 : HISTOGRAM_NS * Math.min(1, histogram.maxValues / length);
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function dataOf(tensor: TensorRef): TensorData {
  const { data } = tensor;
  if (data === undefined)
    throw new QuarkError('probe_failed', 'A tensor left host memory before it was reduced.');
  return data;
}

/** A reference that lasts: the source's own, or a copy. */
function retain(tensor: TensorRef, data: TensorData): TensorRef | RetainedTensor {
  return tensor.retain?.() ?? copyOf(tensor, data);
}

function release(tensor: TensorRef | RetainedTensor): void {
  if ('release' in tensor) tensor.release();
}
