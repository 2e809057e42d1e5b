/**
 * What it costs a caller to hand data to a worker, and to compute on the spot: measured once on the machine at hand, and again with
 * every call. It decides which of the two a call does, so that no caller is blocked for longer than it would be without workers.
 */
import { medianTime } from '../../base/thread/median-time.ts';

/** What has been measured, and what follows from it. */
export type HandOverDiagnostics = {
  /** How data reaches a worker: by a copy into shared memory that is used again, by a message with a copy, or not at all. */
  readonly way: 'ring' | 'message' | 'none';
  /**
   * How the tensors of a probed step reach a worker, where that pays: by a copy into shared memory, in a buffer that is transferred, one a
   * step, or not at all.
   */
  readonly stepWay: 'ring' | 'transfer' | 'none';
  /** Probed steps whose buffer was lost with a worker, or did not come back in time; they are left out, with a warning. */
  readonly lostStepCount: number;
  /** Bytes a millisecond that are copied on their way. */
  readonly copyBytesPerMs: number;
  /** Bytes of float32 a millisecond whose statistics are computed on the calling thread. */
  readonly kernelBytesPerMs: number;
  /**
   * Bytes of a float32 tensor from which its statistics go to a worker, to a factor of two; null: they never do. Heavier work goes
   * sooner, by its cost. Equal to `inlineBytes` where that is set.
   */
  readonly fromBytes: number | null;
  /** Milliseconds that the first measurement took; 0 without one. */
  readonly calibrationMs: number;
};

/** What is measured at the start. */
export type HandOverTrial = {
  /** Computes the statistics of `data` on this thread. */
  readonly compute: (data: Float32Array) => unknown;
  readonly isShared: boolean;
};

/** From where to where `fromBytes` is looked for. */
const LEAST_SHOWN_BYTES = 16 * 1024;
const MOST_SHOWN_BYTES = 256 * 1024 * 1024;
/** Shorter calls say more of the clock than of the kernel. */
export const LEAST_TIMED_COST: number = 64 * 1024;
/** 256 KiB: as much as the second-level cache of any machine holds. */
const TRIAL_LENGTH = 1 << 16;
/** Longest time of either half of the first measurement, once there are enough trials that one pause of the thread does not count. */
const TRIAL_MS = 1;
const LEAST_TRIALS = 5;
const MOST_TRIALS = 12;
/** Until calls have been measured: a wake-up, or a message. */
const RING_MS = 0.02;
const MESSAGE_MS = 0.3;
/**
 * To describe a part of a step and to read its answer, with its share of the wake-up and of the rows that wait for it. A tensor that is
 * computed in less stays: handing over the small tensors of a step of a millisecond made the training slower.
 */
const STEP_PART_MS = 0.02;
/** Calls of a size that are remembered: a median of so many is not moved by a pause of the thread. */
const MEMORY = 9;
/** After so many calls that stay here, one that was handed over is forgotten, so that handing over is tried again one day. */
const CALLS_TO_FORGET = 32;
/** So many calls of a size are computed on the spot before any is handed over, and one of so many later on: to know what that takes. */
const FIRST_HERE = 3;
const CALLS_TO_COMPARE = 32;

export class HandOverCosts {
  readonly #calibrationMs: number;
  readonly #copyBytesPerMs: number;
  readonly #kernelBytesPerMs: number;
  readonly #handOverMs: number;
  /** Milliseconds a byte of what was computed and handed over, by the size of the call. */
  readonly #computed = new Map<number, number[]>();
  readonly #handedOver = new Map<number, number[]>();
  #stayed = 0;
  #left = 0;

  constructor({ compute, isShared }: HandOverTrial) {
    const began = performance.now();
    const data = Float32Array.from({ length: TRIAL_LENGTH }, (_, i) => (i % 97) * 0.01 - 0.4);
    const { byteLength } = data;
    const copy = new Float32Array(
      isShared ? new SharedArrayBuffer(byteLength) : new ArrayBuffer(byteLength),
    );
    this.#copyBytesPerMs = byteLength / best(() => copy.set(data));
    this.#kernelBytesPerMs = byteLength / best(() => compute(data));
    this.#handOverMs = isShared ? RING_MS : MESSAGE_MS;
    this.#calibrationMs = performance.now() - began;
  }

  /** Whether a call is to be computed on the calling thread. */
  staysHere(cost: number, sizeBytes: number): boolean {
    if (this.#isToCompare(cost)) return true;
    const stays = this.#hereMs(cost) <= this.#awayMs(sizeBytes);
    if (!stays) this.#left += 1;
    if (stays && ++this.#stayed % CALLS_TO_FORGET === 0)
      this.#handedOver.get(classOf(sizeBytes))?.shift();
    return stays;
  }

  /**
   * Milliseconds by which a part of a probed step, which needs no wake-up of its own, blocks the thread for less time when it is handed
   * over; below 0 when it is better computed here.
   *
   * @param callMs what the call takes besides
   */
  savedInStep(cost: number, sizeBytes: number, callMs: number): number {
    const awayMs = STEP_PART_MS + sizeBytes / this.#copyBytesPerMs;
    return callMs + cost / this.#kernelBytesPerMs - awayMs;
  }

  /** A call that costs as much as statistics of so many bytes of float32 was computed on the calling thread. */
  computed(cost: number, ms: number): void {
    if (cost >= LEAST_TIMED_COST) remember(this.#computed, cost, ms);
  }

  /** So many bytes were handed over. */
  handedOver(sizeBytes: number, ms: number): void {
    remember(this.#handedOver, sizeBytes, ms);
  }

  /** What has been measured. */
  diagnostics(): Omit<HandOverDiagnostics, 'way' | 'stepWay' | 'lostStepCount'> {
    let bytes = LEAST_SHOWN_BYTES;
    while (bytes <= MOST_SHOWN_BYTES && this.#hereMs(bytes) <= this.#awayMs(bytes)) bytes *= 2;
    return {
      copyBytesPerMs: Math.round(this.#copyBytesPerMs),
      kernelBytesPerMs: Math.round(this.#kernelBytesPerMs),
      fromBytes: bytes > MOST_SHOWN_BYTES ? null : bytes,
      calibrationMs: this.#calibrationMs,
    };
  }

  /** Whether too little is known of what a call of this size takes on the spot, which is what it may take in any case. */
  #isToCompare(cost: number): boolean {
    if (cost < LEAST_TIMED_COST) return false;
    if ((this.#computed.get(classOf(cost))?.length ?? 0) < FIRST_HERE) return true;
    return this.#left % CALLS_TO_COMPARE === CALLS_TO_COMPARE - 1 && ++this.#left > 0;
  }

  #hereMs(cost: number): number {
    const known = this.#computed.get(classOf(cost));
    return known === undefined || known.length === 0
      ? cost / this.#kernelBytesPerMs
      : cost * medianTime(known);
  }

  #awayMs(sizeBytes: number): number {
    const known = this.#handedOver.get(classOf(sizeBytes));
    return known === undefined || known.length === 0
      ? this.#handOverMs + sizeBytes / this.#copyBytesPerMs
      : sizeBytes * medianTime(known);
  }
}

/** Sizes of one class differ by less than a factor of two. */
function classOf(bytes: number): number {
  return Math.floor(Math.log2(Math.max(1, bytes)));
}

function remember(known: Map<number, number[]>, bytes: number, ms: number): void {
  const list = known.get(classOf(bytes)) ?? [];
  known.set(classOf(bytes), list);
  list.push(ms / Math.max(1, bytes));
  if (list.length > MEMORY) list.shift();
}

/** The shortest time of several: the first ones run code that is not compiled yet. */
function best(work: () => unknown): number {
  let least = Infinity;
  const until = performance.now() + TRIAL_MS;
  for (let i = 0; i < MOST_TRIALS; i++) {
    const began = performance.now();
    work();
    const ended = performance.now();
    least = Math.min(least, ended - began);
    if (i + 1 >= LEAST_TRIALS && ended > until) break;
  }
  // A page may be told the time in steps of a tenth of a millisecond.
  return Math.max(least, 0.002);
}
