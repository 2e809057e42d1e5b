/** Memory and disks of a Node process and its children. No `node:` specifier: bundlers of pages follow this file too. */
import type { PeakSource } from '../../profile/profile.ts';
import { PeakWatch, type PeakProcess } from './peaks.ts';

/** What is measured at a moment, as far as the platform can tell. */
export type MeterReading = {
  readonly values: Readonly<Record<string, number>>;
  readonly peakSource: PeakSource | null;
};

/** Measures the process, or the page. */
export interface Meter {
  /** Now: nothing is taken over from an earlier reading. */
  read(): MeterReading;
  close(): void;
}

type Fs = {
  readFileSync(path: string, encoding: 'utf8'): string;
  writeFileSync(path: string, text: string): void;
  readdirSync(path: string): readonly string[];
};

/** The part of Node's `process` that is read. */
export type ProfiledProcess = {
  readonly platform: string;
  readonly pid: number;
  getBuiltinModule(name: string): unknown;
  memoryUsage: (() => {
    readonly rss: number;
    readonly heapUsed: number;
    readonly external: number;
    readonly arrayBuffers: number;
  }) & { rss(): number };
  resourceUsage(): { readonly maxRSS: number };
};

const SAMPLE_MS = 100;
/** Where the kernel does not list children, all processes of the machine are searched, at most this often. */
const SEARCH_MS = 1000;
const PAGE_BYTES = 4096;
const KIBIBYTE = 1024;

let sharedPeaks: PeakWatch | undefined;

/** Measures the process that this runs in. */
export function meterProcess(process: ProfiledProcess): Meter {
  const fs = process.getBuiltinModule('node:fs') as Fs;
  const isLinux = process.platform === 'linux';
  sharedPeaks ??= new PeakWatch(peakProcess(process, fs));
  const peaks = sharedPeaks.open();
  const children = isLinux ? new Children(fs, process.pid) : undefined;
  const disks = (): Disks | undefined =>
    isLinux ? diskTotals(fs, children?.list() ?? []) : undefined;
  const before = disks();
  return {
    read() {
      const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage();
      const { bytes, source } = peaks.take();
      const values: Record<string, number> = {
        rss_bytes: rss,
        rss_peak_bytes: bytes,
        heap_bytes: heapUsed,
        external_bytes: external,
        array_buffer_bytes: arrayBuffers,
      };
      const now = disks();
      if (children !== undefined) values['children_rss_bytes'] = children.rssBytes();
      if (before !== undefined && now !== undefined) {
        values['disk_read_bytes'] = Math.max(0, now.read - before.read);
        values['disk_write_bytes'] = Math.max(0, now.write - before.write);
      }
      return { values, peakSource: source };
    },
    close: () => peaks.close(),
  };
}

function peakProcess(process: ProfiledProcess, fs: Fs): PeakProcess {
  const isLinux = process.platform === 'linux';
  return {
    memoryUsage: process.memoryUsage,
    highest() {
      const status = isLinux ? readText(fs, '/proc/self/status') : undefined;
      const match = /^VmHWM:\s+(\d+) kB$/m.exec(status ?? '');
      return (match === null ? process.resourceUsage().maxRSS : Number(match[1])) * KIBIBYTE;
    },
    reset() {
      if (!isLinux) return false;
      try {
        fs.writeFileSync('/proc/self/clear_refs', '5');
        return true;
      } catch {
        return false; // not ours to write, or not built into the kernel
      }
    },
    everyTick(callback) {
      const timer: unknown = setInterval(callback, SAMPLE_MS);
      if (typeof timer === 'object' && timer !== null && 'unref' in timer) {
        const { unref } = timer;
        if (typeof unref === 'function') unref.call(timer);
      }
      return () => clearInterval(timer as ReturnType<typeof setInterval>);
    },
  };
}

type Disks = { readonly read: number; readonly write: number };

/** Of the process, the children that have ended, and those that are alive; undefined where the kernel does not count. */
function diskTotals(fs: Fs, children: readonly number[]): Disks | undefined {
  // A child that ends is added to its parent by the kernel.
  const own = diskCounts(fs, 'self');
  if (own === undefined) return undefined;
  let { read, write } = own;
  for (const pid of children) {
    const counts = diskCounts(fs, String(pid));
    read += counts?.read ?? 0;
    write += counts?.write ?? 0;
  }
  return { read, write };
}

function diskCounts(fs: Fs, pid: string): Disks | undefined {
  const text = readText(fs, `/proc/${pid}/io`);
  const field = (name: string): number | undefined => {
    const match = new RegExp(`^${name}: (\\d+)$`, 'm').exec(text ?? '');
    return match === null ? undefined : Number(match[1]);
  };
  const read = field('read_bytes');
  const write = field('write_bytes');
  return read === undefined || write === undefined ? undefined : { read, write };
}

/** The processes that this one has started, and those that they have. */
class Children {
  readonly #fs: Fs;
  readonly #pid: number;
  #found: readonly number[] = [];
  #searchedAtMs = -Infinity;
  #isListed = true;

  constructor(fs: Fs, pid: number) {
    this.#fs = fs;
    this.#pid = pid;
  }

  list(): readonly number[] {
    if (this.#isListed) {
      const listed = this.#listed();
      if (listed !== undefined) return (this.#found = listed);
      this.#isListed = false;
    }
    const nowMs = performance.now();
    if (nowMs - this.#searchedAtMs < SEARCH_MS) return this.#found;
    this.#searchedAtMs = nowMs;
    return (this.#found = this.#search());
  }

  /** Of those that were listed last. */
  rssBytes(): number {
    let pages = 0;
    for (const pid of this.#found)
      pages += Number(readText(this.#fs, `/proc/${pid}/statm`)?.split(' ')[1] ?? 0);
    return pages * PAGE_BYTES;
  }

  /** By the kernel; undefined where it was built without that. */
  #listed(): number[] | undefined {
    const all: number[] = [];
    const waiting = [this.#pid];
    for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
      const threads = readNames(this.#fs, `/proc/${pid}/task`);
      for (const thread of threads) {
        const text = readText(this.#fs, `/proc/${pid}/task/${thread}/children`);
        if (text === undefined && pid === this.#pid && thread === String(pid)) return undefined;
        for (const child of (text ?? '').split(' ')) {
          if (child === '') continue;
          all.push(Number(child));
          waiting.push(Number(child));
        }
      }
    }
    return all;
  }

  #search(): number[] {
    const byParent = new Map<number, number[]>();
    for (const name of readNames(this.#fs, '/proc')) {
      if (!/^\d+$/.test(name)) continue;
      // The name of the program may have brackets and spaces in it.
      const rest = readText(this.#fs, `/proc/${name}/stat`)?.replace(/^.*\) /s, '');
      const parent = Number(rest?.split(' ')[1] ?? Number.NaN);
      const siblings = byParent.get(parent);
      if (siblings === undefined) byParent.set(parent, [Number(name)]);
      else siblings.push(Number(name));
    }
    const all: number[] = [];
    const waiting = [this.#pid];
    for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
      const found = byParent.get(pid) ?? [];
      all.push(...found);
      waiting.push(...found);
    }
    return all;
  }
}

function readText(fs: Fs, path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return undefined; // ended, not ours, or not part of this kernel
  }
}

function readNames(fs: Fs, path: string): readonly string[] {
  try {
    return fs.readdirSync(path);
  } catch {
    return [];
  }
}
