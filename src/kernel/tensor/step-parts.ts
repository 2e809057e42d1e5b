/**
 * What one probed step asks of tensors, put together in the memory that a worker gets: the tensors, and a table of what is asked of
 * each. Each is copied once, at the moment of its capture; a chunk of them is one job with one answer, however many there are.
 */
import { checkTensor } from './checks.ts';
import type { PairData, TensorData, TensorType } from '../kernel.ts';
import { typeOption } from './reductions.ts';
import { describeTable } from './ring-codec.ts';
import type { StepHandOver } from './step-hand-over.ts';
import {
  describeSummary,
  PART_NUMBERS,
  readCosine,
  readFound,
  summaryOutLength,
  type SummaryJob,
} from './summary-codec.ts';
import type { ChangeSummary, ReductionRequest, TensorSummary } from './summaries.ts';
import type { StepBatch, StepJob, StepSpace } from '../workers/step-crew.ts';

/** A tensor as a probe has it. */
export type StepTensor = {
  readonly data: TensorData;
  readonly shape: readonly number[];
  readonly dtype: string;
  /** What tells that two parts which follow each other are about the same elements. */
  readonly source: object;
};

/** Parts of a chunk at most, bytes of its tensors, and numbers of its answers; what is larger has a chunk of its own. */
const MOST_PARTS = 48;
const CHUNK_BYTES = 1 << 20;
const CHUNK_NUMBERS = 1 << 13;
const TABLE_BYTES = MOST_PARTS * PART_NUMBERS * 8;

/** Gets the answer to a part: numbers from `at` on, which change no more. */
type Read = (out: Float64Array, at: number) => void;

type Chunk = {
  readonly space: StepSpace;
  /** Bytes of tensors that it has space for, and that there are. */
  readonly sizeBytes: number;
  usedBytes: number;
  outLength: number;
  readonly reads: Read[];
  readonly outAts: number[];
  /** Where the tensors are that were copied last. */
  readonly copied: Map<object, number>;
};

export class StepParts {
  readonly #steps: StepHandOver;
  readonly #failed: (error: unknown) => void;
  /** Null: this step is computed on the training thread. */
  #batch: StepBatch | null | undefined;
  #chunk: Chunk | undefined;
  #jobs: StepJob[] = [];
  /** Milliseconds that the parts would have taken here, beyond those of handing them over. */
  #savedMs = 0;

  /** @param failed gets what a reduction threw; nothing else of its chunk is told then */
  constructor(steps: StepHandOver, failed: (error: unknown) => void) {
    this.#steps = steps;
    this.#failed = failed;
  }

  /** Whether everything that was handed over has been told. */
  get isComplete(): boolean {
    return this.#chunk === undefined && this.#jobs.every(({ isSettled }) => isSettled);
  }

  /** Numbers of a tensor. False where it is to be computed on the training thread. */
  summarize(
    tensor: StepTensor,
    request: ReductionRequest,
    done: (summary: TensorSummary) => void,
  ): boolean {
    const { data, dtype, shape } = tensor;
    const savedMs = this.#steps.savedMs('summary', data, request, data.byteLength);
    if (savedMs <= 0) return false;
    const type = checkTensor(data, typeOption(data, dtype));
    const job = { kind: 'summary', type, shape, request } as const;
    const read: Read = (out, at) => done(readFound(job, out, at).update);
    return this.#add(job, [data], [tensor.source], savedMs, read);
  }

  /** Numbers of `after - before`. */
  change(
    after: StepTensor & { readonly data: PairData },
    before: StepTensor & { readonly data: PairData },
    request: ReductionRequest,
    done: (change: ChangeSummary) => void,
  ): boolean {
    const { data, shape } = after;
    const sources = [after.source, before.source];
    const bytes = this.#bytesToCopy(data, sources);
    const savedMs = this.#steps.savedMs('change', data, request, bytes);
    if (savedMs <= 0) return false;
    const job = { kind: 'change', type: typeOf(data), shape, request } as const;
    const read: Read = (out, at) => done(readFound(job, out, at));
    return this.#add(job, [data, before.data], sources, savedMs, read);
  }

  /** The cosine between two tensors; null when one is all zero. */
  cosine(
    first: { readonly data: PairData; readonly source: object },
    second: { readonly data: PairData; readonly source: object },
    done: (cosine: number | null) => void,
  ): boolean {
    const sources = [first.source, second.source];
    const bytes = this.#bytesToCopy(first.data, sources);
    const savedMs = this.#steps.savedMs('cosine', first.data, NOTHING, bytes);
    if (savedMs <= 0) return false;
    const type = typeOf(first.data);
    const job = { kind: 'cosine', type, shape: [], request: NOTHING } as const;
    const read: Read = (out, at) => done(readCosine(out, at));
    return this.#add(job, [first.data, second.data], sources, savedMs, read);
  }

  /** Ends the step: workers begin. */
  publish(): void {
    this.#close();
    const batch = this.#batch;
    this.#batch = null;
    if (batch === null || batch === undefined) return;
    if (this.#jobs.length > 0) this.#steps.publish(batch, this.#savedMs);
    else batch.publish();
  }

  /**
   * Does here what no worker has finished.
   *
   * @param isLast the process is about to end
   */
  finishHere(isLast: boolean): void {
    for (const job of this.#jobs) job.takeOver(isLast);
  }

  /** Gives up what has not been told. */
  drop(): void {
    this.#chunk?.space.release();
    this.#chunk = undefined;
    for (const job of this.#jobs) job.drop();
    this.#jobs = [];
    this.#batch?.publish();
    this.#batch = null;
  }

  /** Resolves once all has been told. */
  settle(): Promise<void> {
    return this.#steps.settle(this.#jobs);
  }

  #bytesToCopy({ byteLength }: TensorData, sources: readonly object[]): number {
    const copied = this.#chunk?.copied;
    return sources.reduce((sum, one) => sum + (copied?.has(one) === true ? 0 : byteLength), 0);
  }

  #add(
    job: SummaryJob,
    tensors: readonly TensorData[],
    sources: readonly object[],
    savedMs: number,
    read: Read,
  ): boolean {
    if (this.#batch === undefined) this.#batch = this.#steps.openBatch() ?? null;
    if (this.#batch === null) return false;
    const outLength = summaryOutLength(job);
    const [data] = tensors;
    if (data === undefined) return false;
    const each = align(data.byteLength);
    const chunk = this.#chunkFor(each * tensors.length, outLength);
    if (chunk === undefined) return false;
    const { space } = chunk;
    const offsets = tensors.map((tensor, i) => {
      const source = sources[i] ?? tensor;
      // A summary is of a tensor as it is now; what follows it at once is about the same elements.
      const known = job.kind === 'summary' ? undefined : chunk.copied.get(source);
      if (known !== undefined) return known;
      const at = space.byteOffset + TABLE_BYTES + chunk.usedBytes;
      space.copy(tensor, at);
      chunk.usedBytes += each;
      chunk.copied.set(source, at);
      return at;
    });
    const [first = 0, second = 0] = offsets;
    const tableAt = (space.byteOffset >> 3) + chunk.reads.length * PART_NUMBERS;
    const view = { length: data.length, first, second };
    describeSummary(job, view, chunk.outLength, space.numbers, tableAt);
    chunk.outAts.push(chunk.outLength);
    chunk.reads.push(read);
    chunk.outLength += outLength;
    this.#savedMs += savedMs;
    return true;
  }

  /** The chunk that is being filled, or a new one where it has no space for so much. */
  #chunkFor(sizeBytes: number, outLength: number): Chunk | undefined {
    const chunk = this.#chunk;
    if (
      chunk !== undefined &&
      chunk.usedBytes + sizeBytes <= chunk.sizeBytes &&
      chunk.outLength + outLength <= chunk.space.outLength &&
      chunk.reads.length < MOST_PARTS
    )
      return chunk;
    this.#close();
    const open = (bytes: number, length: number): Chunk | undefined => {
      const space = this.#batch?.space(TABLE_BYTES + bytes, length);
      if (space === undefined) return undefined;
      const none = { reads: [], outAts: [], copied: new Map<object, number>() };
      return { space, sizeBytes: bytes, usedBytes: 0, outLength: 0, ...none };
    };
    this.#chunk =
      open(Math.max(CHUNK_BYTES, sizeBytes), Math.max(CHUNK_NUMBERS, outLength)) ??
      open(sizeBytes, outLength);
    return this.#chunk;
  }

  /** Makes a job of the chunk that is being filled. */
  #close(): void {
    const chunk = this.#chunk;
    this.#chunk = undefined;
    if (chunk === undefined) return;
    const { reads, outAts, outLength, space } = chunk;
    const job = space.offer({
      outLength,
      describe: (numbers) => describeTable(space.byteOffset, reads.length, numbers),
      done: (out) => {
        // A copy of its own: the memory is used again.
        const own = out.slice();
        reads.forEach((read, i) => read(own, outAts[i] ?? 0));
      },
      failed: this.#failed,
    });
    if (job !== undefined) this.#jobs.push(job);
  }
}

const NOTHING: ReductionRequest = { epsilon: 0, threshold: null, unitAxis: null, histogram: null };

function typeOf(data: PairData): TensorType {
  return data instanceof Float32Array ? 'float32' : 'float64';
}

/** Where the next tensor begins, its elements are aligned. */
function align(bytes: number): number {
  return (bytes + 15) & ~15;
}
