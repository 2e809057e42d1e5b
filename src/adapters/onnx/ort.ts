/** The parts of onnxruntime-web that are used, as shapes: the library is handed in and never imported. */
import { inSpan } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { invalidInput } from '../../base/errors.ts';
import type { TensorData } from '../../kernel/kernel.ts';
import type { RetainedTensor } from '../../instruments/probes/model-source.ts';

/** An `ort.Tensor`. */
export interface OrtTensor {
  readonly type: string;
  readonly dims: readonly number[];
  /** `cpu`, `cpu-pinned`, `gpu-buffer`, `ml-tensor`, ... */
  readonly location: string;
  /** The numbers; throws unless they lie on the host. */
  readonly data: unknown;
  getData(releaseData?: boolean): Promise<unknown>;
  dispose(): void;
}

/** Inputs and outputs of a run by name. */
export type OrtValues = Readonly<Record<string, OrtTensor>>;

/** An `ort.InferenceSession`. */
export interface OrtSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: OrtValues, ...rest: unknown[]): Promise<OrtValues>;
  release(): Promise<void>;
}

/** The options of `ort.InferenceSession.create`. All are passed on, also those that are not named here. */
export interface OrtSessionOptions {
  readonly executionProviders?: readonly unknown[];
  readonly preferredOutputLocation?: unknown;
  readonly graphOptimizationLevel?: unknown;
  readonly executionMode?: unknown;
  readonly freeDimensionOverrides?: unknown;
  readonly enableGraphCapture?: unknown;
  readonly externalData?: unknown;
  readonly logSeverityLevel?: unknown;
  readonly extra?: unknown;
}

/** The module: `import * as ort from 'onnxruntime-web'`. */
export interface Ort {
  readonly InferenceSession: {
    create(bytes: Uint8Array, options?: never): Promise<object>;
  };
  readonly Tensor: new (...args: never[]) => object;
}

/** The type of the sessions a module makes: `ort.InferenceSession`. */
export type SessionOf<O extends Ort> = Awaited<ReturnType<O['InferenceSession']['create']>>;

/** Makes a session. @throws {QuarkError} `invalid_input` when `ort` is not the module */
export async function createSession(
  ort: Ort,
  bytes: Uint8Array,
  options: OrtSessionOptions,
): Promise<OrtSession> {
  checkOrt(ort);
  // What the module's own declarations promise: its overloads cannot be written as one structural type.
  const made = await inSpan(ProfileStep.MODEL_LOADING, () =>
    ort.InferenceSession.create(bytes, options as never),
  );
  return made as OrtSession;
}

/** Makes a tensor, which keeps `data`. */
export function createTensor(
  ort: Ort,
  type: string,
  data: TensorData | BigInt64Array,
  dims: readonly number[],
): OrtTensor {
  const Tensor = ort.Tensor as unknown as new (
    type: string,
    data: unknown,
    dims: readonly number[],
  ) => OrtTensor;
  return new Tensor(type, data, dims);
}

/** @throws {QuarkError} `invalid_input` unless it is the module of onnxruntime */
export function checkOrt(ort: unknown): void {
  const isModule =
    typeof ort === 'object' && ort !== null && 'InferenceSession' in ort && 'Tensor' in ort;
  if (!isModule)
    throw invalidInput('ort', ort, 'the module: import * as ort from "onnxruntime-web"');
}

/** Name of the provider that is tried first; `wasm` unless given. */
export function providerOf({ executionProviders = [] }: OrtSessionOptions): string {
  const [first] = executionProviders;
  const name: unknown =
    typeof first === 'object' && first !== null && 'name' in first ? first.name : first;
  return typeof name !== 'string' || name === 'cpu' ? 'wasm' : name;
}

/** Whether the numbers can be read at once. */
export function isTensorOnHost({ location }: OrtTensor): boolean {
  return location === 'cpu' || location === 'cpu-pinned';
}

/** The numbers of a tensor on the host, a view; undefined for types without statistics. */
export function hostData(tensor: OrtTensor): TensorData | undefined {
  const { data } = tensor;
  if (data instanceof Float32Array || data instanceof Float64Array || data instanceof Int32Array)
    return data;
  if (data instanceof Uint8Array || data instanceof Uint16Array) return data;
  // A Float16Array, where the platform has one: its bits are what the kernels read.
  if (tensor.type === 'float16' && ArrayBuffer.isView(data))
    return new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  return undefined;
}

/** A tensor that onnxruntime made for us, as probes see it: nobody writes into it, so keeping it takes no copy. */
export function hostRef(tensor: OrtTensor): RetainedTensor {
  const { dims: shape, type: dtype } = tensor;
  const data = isTensorOnHost(tensor) ? hostData(tensor) : undefined;
  const ref = { shape, dtype, data, retain: () => ref, release: () => undefined };
  return ref;
}
