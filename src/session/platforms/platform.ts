/** What a session needs of its environment. Node's part is in `node/platform.ts`. */
import type { JsonObject } from '../../base/json.ts';
import { isNode } from '../../base/runtime.ts';
import { VERSION } from '../../base/version.ts';
import type { MergeWindow } from '../../segment/compact.ts';
import { pageTokens, type TabTokens } from './tab-token.ts';

/** A file that grows at its end. */
export interface AppendFile {
  /** Bytes. */
  readonly size: number;
  append(bytes: Uint8Array): Promise<void>;
  /** Cuts off what is behind the first `size` bytes. */
  cut(size: number): Promise<void>;
  close(): Promise<void>;
}

/** A file that a program names, or that lies in a folder it names. */
export type FoundFile = {
  /** Relative to the folder, with "/" between its parts; of a single file its name. */
  readonly path: string;
  readonly sizeBytes: number;
  /** When it was last changed, in UTC epoch milliseconds; null where nobody knows. */
  readonly modifiedAtMs: number | null;
  stream(): AsyncIterable<Uint8Array<ArrayBuffer>>;
};

/** What lies in a folder and is not read. */
export type SkippedFile = { readonly path: string; readonly reason: string };

/** The code that a program runs. */
export type ProgramCode = {
  readonly commit: string | null;
  readonly branch: string | null;
  /** Changes since the commit, as a patch; null outside of a repository. */
  readonly diff: string | null;
  readonly isDiffCut: boolean;
  /** Files that Git does not know and does not ignore, the first of them. */
  readonly untracked: readonly string[];
  readonly untrackedCount: number;
  readonly lockFile: { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } | null;
  /** Versions by name. */
  readonly packages: Readonly<Record<string, string>>;
  /** Scripts, with their SHA-256 where they can be read. */
  readonly scripts: readonly {
    readonly path: string;
    readonly sha256: string | null;
    readonly isEntry: boolean;
  }[];
};

/** Files and code of a program that has a disk. */
export interface ProgramFiles {
  openFile(path: string): Promise<FoundFile>;
  listFiles(
    folder: string,
    isExcluded: (name: string) => boolean,
  ): AsyncIterable<FoundFile | SkippedFile>;
  readCode(maxDiffBytes: number): Promise<ProgramCode>;
}

/** Why a process leaves its open runs. */
export type Leaving = {
  readonly reason: string;
  /** What was thrown that nobody caught, where that ends the process. */
  readonly uncaught?: { readonly error: unknown };
};

/** The environment of a session. */
export interface Platform {
  /** How long a lease lasts without renewal. Browsers slow the timers of hidden tabs down to one a minute. */
  readonly leaseTtlMs: number;
  /** The name of this process for others with the same store; null where they cannot find out that it has ended. */
  readonly holderTag: { readonly tag: string | null; isGone(tag: string): boolean };
  /** Facts about the machine and the software, for the run record. */
  environment(): Promise<JsonObject>;
  /** Commit of the working directory, or null where there is none. */
  gitCommit(): Promise<string | null>;
  /** Calls back when the process is asked to stop or the page goes away; returns the undo. */
  onInterrupt(listener: (reason: string) => Promise<void>): () => void;
  /**
   * Calls back at a moment after which there may be no other, when nothing asynchronous can follow. With `leaving` it is certain that
   * nothing follows.
   */
  onExit(listener: (leaving?: Leaving) => void): () => void;
  /** What the tab remembers of the runs of its pages; absent in workers and in Node. */
  readonly tab?: TabTokens | undefined;
  /** Opens a file in a folder, or makes both; absent where there are no files. */
  readonly openAppendFile?: (folder: string, name: string) => Promise<AppendFile>;
  /** Merges windows of segments with another thread; absent where there is none. */
  readonly mergeWindow?: MergeWindow;
  /** Files and code; absent where there is no disk. */
  readonly files?: ProgramFiles;
  /** Calls back when the page is hidden: what is buffered should be written now. */
  onHide(listener: () => void): () => void;
}

declare const __QUARK_IMPORT_NODE__: () => Promise<{ readonly platformOfNode: () => Platform }>;

const NOTHING = (): void => undefined;

/** Browsers: a page or a worker. */
export const browserPlatform: Platform = {
  leaseTtlMs: 75_000,
  holderTag: { tag: null, isGone: () => false },
  get tab() {
    return pageTokens();
  },
  environment: () => Promise.resolve(browserEnvironment()),
  gitCommit: () => Promise.resolve(null),
  onInterrupt(listener) {
    if (typeof document === 'undefined') return NOTHING;
    const leave = (event: PageTransitionEvent): void => {
      // A page in the back/forward cache may be shown again: its run is not over.
      if (!event.persisted) void listener('the page was closed');
    };
    globalThis.addEventListener('pagehide', leave);
    return () => globalThis.removeEventListener('pagehide', leave);
  },
  onExit(listener) {
    if (typeof document === 'undefined') return NOTHING;
    const leave = (): void => listener();
    globalThis.addEventListener('pagehide', leave);
    return () => globalThis.removeEventListener('pagehide', leave);
  },
  onHide(listener) {
    if (typeof document === 'undefined') return NOTHING;
    const hide = (): void => {
      if (document.visibilityState === 'hidden') listener();
    };
    document.addEventListener('visibilitychange', hide);
    globalThis.addEventListener('pagehide', listener);
    return () => {
      document.removeEventListener('visibilitychange', hide);
      globalThis.removeEventListener('pagehide', listener);
    };
  },
};

/** The platform this code runs on. */
export async function loadPlatform(): Promise<Platform> {
  return isNode() ? (await __QUARK_IMPORT_NODE__()).platformOfNode() : browserPlatform;
}

function browserEnvironment(): JsonObject {
  // workerd and jsdom lack some of them, and an environment holds no undefined.
  const { crossOriginIsolated, navigator }: Partial<typeof globalThis> = globalThis;
  const { hardwareConcurrency, language, userAgent }: Partial<Navigator> = navigator ?? {};
  const memory: unknown = Reflect.get(navigator ?? {}, 'deviceMemory');
  return {
    platform: typeof document === 'undefined' ? 'worker' : 'browser',
    quark_version: VERSION,
    user_agent: userAgent ?? null,
    language: language ?? null,
    logical_processors: hardwareConcurrency ?? null,
    device_memory_gib: typeof memory === 'number' ? memory : null,
    is_cross_origin_isolated: crossOriginIsolated ?? false,
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
}
