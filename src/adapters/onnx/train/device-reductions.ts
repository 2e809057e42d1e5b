/** Reduces tensors where they lie, and reads all numbers of a probe back at once. */
import { QuarkError } from '../../../base/errors.ts';
import type {
  DeviceBatch,
  DeviceResult,
  ReductionRequest,
  TensorRef,
} from '../../../instruments/probes/model-source.ts';
import type { DeviceTensors } from './device-tensors.ts';
import type { OrtSession, OrtTensor } from '../ort.ts';
import {
  inputName,
  readSummary,
  REDUCED,
  reductionGraph,
  slotCount,
  type Reduction,
} from './reduction-graph.ts';

/** Graphs kept: probes of layers and of parameters have one each, and the last batch of an epoch is often smaller. */
const MAX_SESSIONS = 6;

/** Makes batches, and keeps the sessions that compute them. */
export class DeviceReductions {
  readonly #tensors: DeviceTensors;
  readonly #create: (bytes: Uint8Array) => Promise<OrtSession>;
  readonly #sessions = new Map<string, OrtSession>();

  constructor(tensors: DeviceTensors, create: (bytes: Uint8Array) => Promise<OrtSession>) {
    this.#tensors = tensors;
    this.#create = create;
  }

  /** `alone` runs work while no other session runs: onnxruntime's WebGPU provider runs one at a time. */
  openBatch(alone: <T>(work: () => Promise<T>) => Promise<T>): DeviceBatch {
    return new ReductionBatch(this.#tensors, (tensors, reductions) =>
      alone(() => this.#reduce(tensors, reductions)),
    );
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    for (const session of sessions) await session.release();
  }

  async #reduce(
    tensors: readonly OrtTensor[],
    reductions: readonly Reduction[],
  ): Promise<Float32Array> {
    const session = await this.#sessionFor(
      tensors.map(({ dims }) => dims),
      reductions,
    );
    const feeds = Object.fromEntries(tensors.map((tensor, i) => [inputName(i), tensor]));
    const data = (await session.run(feeds, [REDUCED]))[REDUCED]?.data;
    if (data instanceof Float32Array && data[0] === 1) return data.subarray(1);
    throw new QuarkError(
      'kernel_failed',
      'The device gave no statistics, or wrong ones: it may have run out of a limit.',
    );
  }

  async #sessionFor(
    shapes: readonly (readonly number[])[],
    reductions: readonly Reduction[],
  ): Promise<OrtSession> {
    const key = JSON.stringify([shapes, reductions]);
    const known = this.#sessions.get(key);
    const session = known ?? (await this.#create(reductionGraph(shapes, reductions)));
    // The order of a Map is that of insertion: the first is the one not used for longest.
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    const [oldest] = this.#sessions;
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) {
      this.#sessions.delete(oldest[0]);
      await oldest[1].release();
    }
    return session;
  }
}

type Reduce = (
  tensors: readonly OrtTensor[],
  reductions: readonly Reduction[],
) => Promise<Float32Array>;

class ReductionBatch implements DeviceBatch {
  readonly #device: DeviceTensors;
  readonly #reduce: Reduce;
  readonly #tensors: OrtTensor[] = [];
  readonly #reductions: Reduction[] = [];

  constructor(device: DeviceTensors, reduce: Reduce) {
    this.#device = device;
    this.#reduce = reduce;
  }

  summarize(tensor: TensorRef, request: ReductionRequest): void {
    this.#reductions.push({
      kind: 'summary',
      tensor: this.#number(tensor),
      request: plain(request),
    });
  }

  summarizeChange(after: TensorRef, before: TensorRef, request: ReductionRequest): void {
    const [now, was] = [this.#number(after), this.#number(before)];
    this.#reductions.push({ kind: 'change', after: now, before: was, request: plain(request) });
  }

  compare(first: TensorRef, second: TensorRef): void {
    this.#reductions.push({
      kind: 'compare',
      first: this.#number(first),
      second: this.#number(second),
    });
  }

  async read(): Promise<readonly DeviceResult[]> {
    try {
      if (this.#reductions.length === 0) return [];
      const numbers = await this.#reduce(this.#tensors, this.#reductions);
      let at = 0;
      return this.#reductions.map((reduction) => {
        const shape = this.#shapeOf(reduction);
        const count = slotCount(reduction, shape);
        const slots = numbers.subarray(at, at + count);
        at += count;
        return resultOf(reduction, slots, shape);
      });
    } finally {
      this.discard();
    }
  }

  discard(): void {
    for (const tensor of this.#tensors) this.#device.drop(tensor);
    this.#tensors.length = 0;
  }

  /** Position of a tensor among the inputs; each is fed once. */
  #number(ref: TensorRef): number {
    const tensor = this.#device.tensorOf(ref);
    if (tensor === undefined || tensor.type !== 'float32')
      throw new QuarkError(
        'unsupported',
        `A tensor of type ${ref.dtype} cannot be reduced on the device.`,
      );
    const known = this.#tensors.indexOf(tensor);
    if (known >= 0) return known;
    this.#device.hold(tensor);
    return this.#tensors.push(tensor) - 1;
  }

  #shapeOf(reduction: Reduction): readonly number[] {
    if (reduction.kind === 'compare') return [];
    const index = reduction.kind === 'summary' ? reduction.tensor : reduction.after;
    return this.#tensors[index]?.dims ?? [];
  }
}

/** Only what the graph depends on, so that equal requests have equal keys. */
const plain = ({
  epsilon,
  threshold,
  unitAxis,
  histogram,
}: ReductionRequest): ReductionRequest => ({
  epsilon,
  threshold,
  unitAxis,
  histogram: histogram === null ? null : { bins: histogram.bins, maxValues: histogram.maxValues },
});

function resultOf(
  reduction: Reduction,
  slots: Float32Array,
  shape: readonly number[],
): DeviceResult {
  if (reduction.kind === 'compare') {
    const [dot = 0, a = 0, b = 0] = slots;
    const cosine = dot / Math.sqrt(a * b);
    return { summary: null, beforeNorm: null, cosine: Number.isFinite(cosine) ? cosine : null };
  }
  const summary = readSummary(slots, shape, reduction.request);
  if (reduction.kind === 'summary') return { summary, beforeNorm: null, cosine: null };
  const [squares = 0, scale = 1] = slots.subarray(-2);
  return { summary, beforeNorm: Math.sqrt(squares) * scale, cosine: null };
}
