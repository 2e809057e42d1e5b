/**
 * What this JavaScript environment offers. No `node:` specifier appears anywhere in the core, so no bundler ever sees one: Node's
 * modules come from `process.getBuiltinModule`.
 */

/** The port of Node's `worker_threads`: both a Worker and a parentPort are one. */
export interface NodePort {
  postMessage(message: unknown, transfer?: readonly unknown[]): void;
  on(event: string, listener: (value: unknown) => void): unknown;
  off(event: string, listener: (value: unknown) => void): unknown;
}

/** A Worker of Node's `worker_threads`. */
export interface NodeWorker extends NodePort {
  ref(): void;
  unref(): void;
  terminate(): Promise<number>;
}

/** The part of Node's `worker_threads` that is used. */
export type NodeThreads = {
  readonly Worker: new (url: URL) => NodeWorker;
  readonly parentPort: NodePort | null;
};

type NodeProcess = { readonly getBuiltinModule?: (name: string) => unknown };

/**
 * Whether the Worker of the web exists. Asked before Node is: some test environments put a window into Node. Others, such as
 * onnxruntime-web, make Node's own a global of that name, which is none of the web.
 */
export function hasWebWorker(): boolean {
  return typeof Worker === 'function' && (Worker as unknown) !== nodeThreads()?.Worker;
}

/** Node's `worker_threads`; undefined outside Node. */
export function nodeThreads(): NodeThreads | undefined {
  return builtin('node:worker_threads') as NodeThreads | undefined;
}

/** Processors the machine lets this program use; 1 where nobody says. */
export function processorCount(): number {
  const os = builtin('node:os') as { readonly availableParallelism?: () => number } | undefined;
  if (os?.availableParallelism !== undefined) return os.availableParallelism();
  return typeof navigator === 'object' ? (navigator.hardwareConcurrency ?? 1) : 1;
}

/** Whether memory can be shared with a worker: in Node, and in pages that are cross-origin isolated. */
export function canShareMemory(): boolean {
  if (typeof SharedArrayBuffer !== 'function') return false;
  return globalThis.crossOriginIsolated || (!hasWebWorker() && nodeThreads() !== undefined);
}

function builtin(name: string): unknown {
  const { process } = globalThis as { readonly process?: NodeProcess };
  return process?.getBuiltinModule?.(name);
}
