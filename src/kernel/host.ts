/** The worker's side: one kernel behind two functions, exposed through Comlink. */
import { expose, transfer } from 'comlink';
import {
  isQuarkError,
  messageOf,
  QuarkError,
  type ErrorCode,
  type ErrorDetails,
} from '../base/errors.ts';
import { nodeEndpoint } from './endpoint.ts';
import type {
  HistogramOptions,
  Histogram,
  Kernel,
  PairData,
  TensorData,
  TensorPairStats,
  TensorStats,
  TensorStatsOptions,
  TensorType,
} from './kernel.ts';
import { loadKernel } from './load.ts';
import { hasWebWorker, nodeThreads } from './machine.ts';

/** A flat tensor inside a buffer. */
export type TensorView = {
  readonly type: TensorType;
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  /** Elements. */
  readonly length: number;
};

/** A kernel to run, without its tensor. */
export type KernelCall =
  | { readonly op: 'tensorStats'; readonly options: TensorStatsOptions }
  | { readonly op: 'histogram'; readonly options: HistogramOptions }
  /** Its tensor is both tensors, one after the other. */
  | { readonly op: 'tensorPairStats' };

/** The result of each kernel. */
export type KernelResults = {
  readonly tensorStats: TensorStats;
  readonly histogram: Histogram;
  readonly tensorPairStats: TensorPairStats;
};

/** What a kernel call gives. */
export type KernelResult = KernelResults[keyof KernelResults];

/** An error as it crosses to another thread: Comlink would keep the message alone. */
export type WireError = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
};

/** The answer of a worker. `buffer` is the tensor's memory coming back where it had been transferred. */
export type KernelReply = {
  readonly outcome:
    | { readonly ok: true; readonly value: KernelResult }
    | { readonly ok: false; readonly error: WireError };
  readonly buffer: ArrayBuffer | undefined;
};

/** What a worker exposes. */
export type KernelHost = {
  /** Answers once the kernel is ready, with its kind. */
  ping(): Promise<Kernel['kind']>;
  run(call: KernelCall, view: TensorView): Promise<KernelReply>;
};

/** Runs one call on `kernel`. */
export function executeCall(kernel: Kernel, call: KernelCall, view: TensorView): KernelResult {
  const data = openView(view);
  switch (call.op) {
    case 'tensorStats':
      return kernel.tensorStats(data, call.options);
    case 'histogram':
      return kernel.histogram(data, call.options);
    case 'tensorPairStats': {
      const half = view.length / 2;
      const both = openPair(view);
      return kernel.tensorPairStats(both.subarray(0, half), both.subarray(half));
    }
  }
}

/** Makes this thread a kernel worker. Called once, by the worker's entry file. */
export function exposeKernel(): void {
  const ready = loadKernel();
  const host: KernelHost = {
    ping: async () => (await ready).kernel.kind,
    async run(call, view) {
      const { kernel } = await ready;
      const buffer = view.buffer instanceof ArrayBuffer ? view.buffer : undefined;
      const reply: KernelReply = {
        outcome: attempt(() => executeCall(kernel, call, view)),
        buffer,
      };
      return buffer === undefined ? reply : transfer(reply, [buffer]);
    },
  };
  const port = hasWebWorker() || isWebWorker() ? null : nodeThreads()?.parentPort;
  if (port === null || port === undefined) expose(host);
  else expose(host, nodeEndpoint(port));
}

/** The error on the other side, as the error it was. */
export function rebuildError(error: WireError): QuarkError {
  return new QuarkError(error.code, error.message, { details: error.details });
}

/** A web worker need not offer workers of its own. */
function isWebWorker(): boolean {
  return 'WorkerGlobalScope' in globalThis;
}

function attempt(work: () => KernelResult): KernelReply['outcome'] {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    if (isQuarkError(error)) {
      return {
        ok: false,
        error: { code: error.code, message: error.message, details: error.details },
      };
    }
    const message = `A kernel failed: ${messageOf(error)}`;
    return { ok: false, error: { code: 'kernel_failed', message, details: {} } };
  }
}

function openPair({ type, buffer, byteOffset, length }: TensorView): PairData {
  return type === 'float32'
    ? new Float32Array(buffer, byteOffset, length)
    : new Float64Array(buffer, byteOffset, length);
}

function openView({ type, buffer, byteOffset, length }: TensorView): TensorData {
  switch (type) {
    case 'float32':
      return new Float32Array(buffer, byteOffset, length);
    case 'float64':
      return new Float64Array(buffer, byteOffset, length);
    case 'int32':
      return new Int32Array(buffer, byteOffset, length);
    case 'uint8':
      return new Uint8Array(buffer, byteOffset, length);
    case 'float16':
    case 'bfloat16':
      return new Uint16Array(buffer, byteOffset, length);
  }
}
