/** Node's processor, memory, disks, and the GPU by `nvidia-smi`. No `node:` specifier: bundlers of pages follow this file too. */
import type { MachineReading, MachineWatch, MachineWatchOptions } from './machine.ts';
import { countOrNull, percentOf } from './machine.ts';
import { watchNvidia } from './nvidia-watch.ts';

type CpuTimes = { readonly idle: number; readonly total: number };

type Os = {
  cpus(): readonly { readonly times: Readonly<Record<string, number>> }[];
  totalmem(): number;
  freemem(): number;
};
type Fs = { readFileSync(path: string, encoding: 'utf8'): string };
/** The part of Node's `process` that is read. */
export type NodeProcess = {
  readonly platform: string;
  getBuiltinModule(name: string): unknown;
  availableMemory?(): number;
  memoryUsage(): { readonly rss: number; readonly heapUsed: number };
};

/** In shorter spans the ticks of the clock outweigh the load. */
const MIN_CPU_SPAN_MS = 20;

/** Watches the machine Node runs on. */
export function watchNode(process: NodeProcess, options: MachineWatchOptions): MachineWatch {
  const os = process.getBuiltinModule('node:os') as Os;
  const fs = process.getBuiltinModule('node:fs') as Fs;
  const nvidia = options.captureGpu ? watchNvidia(process, options.gpuIndex) : undefined;
  let last = cpuTimes(os);
  let load: number | null = null;
  const readLoad = (): number | null => {
    const now = cpuTimes(os);
    const spanMs = now.total - last.total;
    if (spanMs < MIN_CPU_SPAN_MS) return load;
    load = percentOf(spanMs - (now.idle - last.idle), spanMs);
    last = now;
    return load;
  };
  return {
    read: () => ({
      ...(options.captureCpu ? { cpuUsagePercent: readLoad(), ...readMemory(process, os) } : {}),
      ...(options.captureCpu ? readDisks(process, fs) : {}),
      ...nvidia?.read(),
    }),
    close: () => nvidia?.close(),
  };
}

function cpuTimes(os: Os): CpuTimes {
  let idle = 0;
  let total = 0;
  for (const { times } of os.cpus()) {
    for (const [kind, ms] of Object.entries(times)) {
      total += ms;
      if (kind === 'idle') idle += ms;
    }
  }
  return { idle, total };
}

function readMemory(process: NodeProcess, os: Os): Partial<MachineReading> {
  const { rss, heapUsed } = process.memoryUsage();
  const totalBytes = os.totalmem();
  const usedBytes = totalBytes - os.freemem();
  return {
    ramTotalBytes: countOrNull(totalBytes),
    ramUsedBytes: countOrNull(usedBytes),
    ramUsagePercent: percentOf(usedBytes, totalBytes),
    processRssBytes: countOrNull(rss),
    heapUsedBytes: countOrNull(heapUsed),
  };
}

/** Only Linux counts what each process reads and writes in a file that anyone may read. */
function readDisks(process: NodeProcess, fs: Fs): Partial<MachineReading> {
  if (process.platform !== 'linux') return {};
  try {
    const text = fs.readFileSync('/proc/self/io', 'utf8');
    const field = (name: string): number | null => {
      const match = new RegExp(`^${name}: (\\d+)$`, 'm').exec(text);
      return match === null ? null : countOrNull(Number(match[1]));
    };
    return { diskReadBytes: field('read_bytes'), diskWriteBytes: field('write_bytes') };
  } catch {
    return {}; // not mounted, or not ours to read
  }
}
