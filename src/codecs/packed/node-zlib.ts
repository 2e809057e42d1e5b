/** The zlib of Node, which packs and unpacks on threads of its own; undefined elsewhere. */

/** What is done once a call has ended. */
type Done = (error: Error | null, result: Uint8Array) => void;

/** The part of Node's `zlib` that is used. */
export type Zlib = {
  readonly inflateRaw: (
    bytes: Uint8Array,
    options: { readonly chunkSize: number; readonly maxOutputLength: number },
    done: Done,
  ) => void;
  readonly deflateRaw: (
    bytes: Uint8Array,
    options: { readonly chunkSize: number },
    done: Done,
  ) => void;
};

type NodeProcess = { readonly getBuiltinModule?: (name: string) => unknown };

/** Node's zlib, without an import that a bundler for browsers would follow. */
export function zlibOfNode(): Zlib | undefined {
  const { process } = globalThis as { readonly process?: NodeProcess };
  return process?.getBuiltinModule?.('node:zlib') as Zlib | undefined;
}
