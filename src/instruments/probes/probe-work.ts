/**
 * The numbers of one probed step. Small tensors in host memory are handed to a worker with one copy, where that takes less time than
 * reducing them, or else reduced at once, as long as that takes little time; larger ones are retained and reduced later, in slices, by
 * the workers; tensors on a device are reduced there and read back once. The training loop waits for none of it, and the numbers are the
 * same on every way.
 */
import { QuarkError } from '../../base/errors.ts';
import { nextTask } from '../../base/next-task.ts';
import { addTime } from '../../base/thread/thread-time.ts';
import type { PairData, TensorData } from '../../kernel/kernel.ts';
import type { Kernels } from '../../kernel/tensor/kernels.ts';
import { isFloat, sizeOf, summaryOf } from '../../kernel/tensor/reductions.ts';
import type { StepParts } from '../../kernel/tensor/step-parts.ts';
import {
  cosineBetween,
  findChange,
  findNumbers,
  type ChangeSummary,
} from '../../kernel/tensor/summaries.ts';
import {
  changeLater,
  cosineLater,
  release,
  retain,
  summaryLater,
  type LaterWork,
} from './later-work.ts';
import type {
  DeviceBatch,
  DeviceResult,
  ModelSource,
  ReductionRequest,
  TensorRef,
  TensorSummary,
} from './model-source.ts';
import type { KernelAccess } from './shared-kernels.ts';

/**
 * Longest time a probe may take of a step, in nanoseconds, by the figures below: by those of a clock, what is recorded would
 * depend on what else the machine is doing.
 */
const INLINE_NS = 1.2e6;
/** Tensors with more elements never are reduced on the training thread. */
const MAX_INLINE_LENGTH = 1 << 18;
/** Bytes of such tensors that a step copies for a worker at most, which takes about as long as it may reduce on the spot. */
const MAX_COPIED_BYTES = 1 << 24;
/** Longest time taken at a time, later. */
const SLICE_MS = 1;
/** Nanoseconds an element takes, as measured on one core of 2023, and those of any call. */
const STATS_NS = 0.4;
const HISTOGRAM_NS = 2;
const CHANGE_NS = 2.5;
const CALL_NS = 5_000;
/** Until the kernels have been compiled an element takes some hundred times as long: what has more waits for that. */
const UNREADY_LENGTH = 2048;

export class ProbeWork {
  readonly #kernels: KernelAccess;
  readonly #source: ModelSource;
  readonly #now: () => number;
  readonly #beganLoaded: boolean;
  #spentMs = 0;
  #inlineNs = 0;
  /** Of tensors that are too large to be reduced here. */
  #copiedBytes = 0;
  #later: LaterWork[] = [];
  /** Elements of what was put off. */
  #laterLength = 0;
  /** What this thread is at, of work that was meant for others. */
  #advanced:
    | { readonly work: LaterWork; readonly slices: ReturnType<LaterWork['slices']> }
    | undefined;
  #batch: DeviceBatch | undefined;
  #deviceDone: ((result: DeviceResult) => void)[] = [];
  #isDiscarded = false;
  /** What is handed to workers. */
  #parts: StepParts | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(kernels: KernelAccess, source: ModelSource, now: () => number) {
    this.#kernels = kernels;
    this.#source = source;
    this.#now = now;
    this.#beganLoaded = kernels.isLoaded;
  }

  #spend(ms: number): void {
    this.#spentMs += ms;
    addTime('probes', ms);
  }

  /** Milliseconds of the training thread so far. */
  get spentMs(): number {
    return this.#spentMs;
  }

  /** Measures what is asked of the work meanwhile: once for many tensors, because reading the clock takes as long as a small one. */
  timed(ask: () => void): void {
    const began = this.#now();
    try {
      ask();
    } finally {
      this.#spend(this.#now() - began);
    }
  }

  /** Reduces a tensor; `done` is called with the result, now or later. Call it within {@link timed}, like all that asks. */
  summarize(
    tensor: TensorRef,
    request: ReductionRequest,
    done: (summary: TensorSummary) => void,
  ): void {
    const { data } = tensor;
    if (data !== undefined) checkLength(tensor, data);
    if (data === undefined) {
      this.#onDevice((batch) => batch.summarize(tensor, request), 'summary', done);
    } else if (
      this.#handOver(data, 1, (parts) => parts.summarize(stepTensor(tensor, data), request, done))
    ) {
      // Told by a later poll.
    } else if (this.#fits(data.length, STATS_NS + histogramNs(data.length, request))) {
      const found = findNumbers(this.#kernels.inline, data, tensor, request);
      done(summaryOf(found.stats, found.units, found.histogram));
    } else {
      const kept = retain(tensor, data);
      this.#later.push(summaryLater(kept, request, done));
    }
  }

  /** Reduces `after - before`. Tensors of different devices or without differences are left out: `done` is not called. */
  change(
    after: TensorRef,
    before: TensorRef,
    request: ReductionRequest,
    done: (change: ChangeSummary) => void,
  ): void {
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
      this.#changeOnHost(after, now, { tensor: before, data: was }, request, done);
    }
  }

  /** The cosine of the angle between two tensors, null when one is all zero; `done` is called unless there is none. */
  cosine(first: TensorRef, second: TensorRef, done: (cosine: number | null) => void): void {
    const a = first.data;
    const b = second.data;
    if (a === undefined && b === undefined) {
      this.#onDevice((batch) => batch.compare(first, second), 'cosine', done);
    } else if (a !== undefined && b !== undefined && isFloat(a) && isFloat(b)) {
      if (a.length !== b.length || a.constructor !== b.constructor) return;
      const one = { data: a, source: first };
      const two = { data: b, source: second };
      if (this.#handOver(a, 2, (parts) => parts.cosine(one, two, done))) {
        // Told by a later poll.
      } else if (this.#fits(a.length, STATS_NS)) {
        done(cosineBetween(this.#kernels.inline, a, b));
      } else {
        this.#later.push(cosineLater(retain(first, a), retain(second, b), done));
      }
    }
  }

  /**
   * Ends the step. Undefined when nothing is under way but what was handed over in it, which {@link poll} and {@link settle} deliver;
   * else a promise that ends with the last result.
   */
  finish(): Promise<void> | undefined {
    this.#parts?.publish();
    if (this.#batch === undefined && this.#later.length === 0) return undefined;
    return this.#finishLater();
  }

  /** Discards the results that have not been delivered. */
  discard(): void {
    this.#isDiscarded = true;
    this.#batch?.discard();
    this.#batch = undefined;
    for (const { tensors } of this.#later) tensors.forEach(release);
    this.#later = [];
    this.#parts?.drop();
  }

  /** Whether every result has been delivered. */
  get isComplete(): boolean {
    return this.#batch === undefined && this.#later.length === 0 && this.isHandedComplete;
  }

  /** Whether every result of what was handed over has been delivered. */
  get isHandedComplete(): boolean {
    return this.#parts === undefined || this.#parts.isComplete;
  }

  /** Elements that were put off before the kernels had loaded; null where there is anything else to wait for. */
  get unloadedLength(): number | null {
    return this.#beganLoaded || this.#batch !== undefined ? null : this.#laterLength;
  }

  /** Delivers what workers have found. @throws what a reduction threw */
  poll(): void {
    if (!this.isHandedComplete) {
      const began = this.#now();
      this.#kernels.steps?.poll();
      this.#spend(this.#now() - began);
    }
    // It may have come while another probe polled: the ring tells all of them.
    this.#throwFailure();
  }

  /**
   * Reduces on this thread what was handed over and not done.
   *
   * @param isLast the process is about to end: what is away fails
   * @throws what a reduction threw
   */
  finishHere(isLast = false): void {
    const began = this.#now();
    this.#parts?.finishHere(isLast);
    this.#spend(this.#now() - began);
    this.#throwFailure();
  }

  /** Resolves once what was handed over has been delivered. @throws what a reduction threw */
  async settle(): Promise<void> {
    await this.#parts?.settle();
    this.#throwFailure();
  }

  /**
   * Reduces on this thread what waits for other threads, for about a millisecond: for training loops that give the event
   * loop no turn, so that no answer can come.
   */
  advance(): void {
    const began = this.#now();
    const { inline } = this.#kernels;
    for (let work = this.#later[0]; work !== undefined; work = this.#later[0]) {
      if (this.#advanced?.work !== work)
        this.#advanced = { work, slices: work.slices(inline, inline) };
      const step = this.#advanced.slices.next();
      if (step.done === true) {
        step.value.now();
        this.#isDone(work);
      }
      if (this.#now() - began >= SLICE_MS) break;
    }
    this.#spend(this.#now() - began);
  }

  async #finishLater(): Promise<void> {
    const batch = this.#batch;
    const reading = batch === undefined ? undefined : this.#readBack(batch);
    // Told of below; until then the loop over the others must not make it an unhandled one.
    reading?.catch(() => undefined);
    try {
      if (this.#later.length > 0) {
        const kernels = await this.#kernels.loaded;
        for (let work = this.#later[0]; work !== undefined; work = this.#later[0])
          await this.#runLater(work, kernels);
      }
      await reading;
      await this.settle();
    } finally {
      if (!this.#isDiscarded) this.discard();
    }
  }

  async #runLater(work: LaterWork, kernels: Kernels): Promise<void> {
    const slices = work.slices(kernels, kernels.inline);
    const pause = this.#slices();
    for (;;) {
      await pause();
      // The training thread may have been faster.
      if (this.#later[0] !== work) return;
      const step = slices.next();
      if (step.done !== true) continue;
      await step.value.later();
      this.#isDone(work);
      return;
    }
  }

  #isDone(work: LaterWork): void {
    if (this.#later[0] !== work) return;
    this.#later.shift();
    work.tensors.forEach(release);
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
    let counted = began;
    return async () => {
      const now = this.#now();
      this.#spend(now - counted);
      counted = now;
      if (now - began < SLICE_MS) return;
      await nextTask();
      if (this.#isDiscarded) throw new QuarkError('aborted', 'The probe was given up.');
      began = this.#now();
      counted = began;
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
    const { isLoaded, isReady } = this.#kernels;
    const most = isReady ? MAX_INLINE_LENGTH : UNREADY_LENGTH;
    if (!isLoaded || length > most || ns > INLINE_NS) {
      this.#laterLength += length;
      return false;
    }
    this.#inlineNs = ns;
    return true;
  }

  #changeOnHost(
    after: TensorRef,
    now: PairData,
    before: { readonly tensor: TensorRef; readonly data: TensorData },
    request: ReductionRequest,
    done: (change: ChangeSummary) => void,
  ): void {
    const { data: was } = before;
    if (
      isFloat(was) &&
      was.constructor === now.constructor &&
      this.#handOver(now, 2, (parts) =>
        parts.change(stepTensor(after, now), stepTensor(before.tensor, was), request, done),
      )
    )
      return;
    if (this.#fits(now.length, CHANGE_NS + histogramNs(now.length, request))) {
      const found = findChange(this.#kernels.inline, now, was, request);
      const update = summaryOf(found.stats, null, found.histogram);
      done({ update, beforeNorm: found.beforeNorm });
    } else {
      this.#later.push(changeLater(retain(after, now), retain(before.tensor, was), request, done));
    }
  }

  /** Hands a part of the step, about so many tensors, to a worker, where that takes less time than doing it. */
  #handOver(
    { byteLength, length }: TensorData,
    tensors: number,
    hand: (parts: StepParts) => boolean,
  ): boolean {
    const { steps } = this.#kernels;
    const copiedBytes = length > MAX_INLINE_LENGTH ? byteLength * tensors : 0;
    if (steps === undefined || length === 0) return false;
    if (copiedBytes > 0 && this.#copiedBytes + copiedBytes > MAX_COPIED_BYTES) return false;
    this.#parts ??= steps.open((error) => {
      this.#failure ??= { error };
    });
    const isHanded = hand(this.#parts);
    if (isHanded) this.#copiedBytes += copiedBytes;
    return isHanded;
  }

  #throwFailure(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
  }
}

/** A tensor as it is handed over. */
function stepTensor<D extends TensorData>(source: TensorRef, data: D) {
  return { data, shape: source.shape, dtype: source.dtype, source };
}

function histogramNs(length: number, { histogram }: ReductionRequest): number {
  return histogram === null ? 0 : HISTOGRAM_NS * Math.min(1, histogram.maxValues / length);
}

/** What a tensor says of its shape decides which elements belong to which unit. */
function checkLength({ shape }: TensorRef, { length }: TensorData): void {
  if (sizeOf(shape) !== length)
    throw new QuarkError(
      'probe_failed',
      `a tensor of shape [${shape.join(', ')}] came with ${length} elements`,
    );
}
