/**
 * The memory of all visible GPUs: of NVIDIA as `nvidia-smi` prints it twice a second, else of AMD as `rocm-smi` does once a second.
 * Neither is there: nothing is. A reading has the time at which it came, and is never taken for the state at a checkpoint before it.
 */
import { releaseChild, type ChildProgram, type ChildPrograms } from '../telemetry/child-program.ts';
import type { GpuReading } from '../../profile/profile.ts';

/** All visible GPUs at a moment, in the milliseconds of `performance.now`. */
export type GpuSample = { readonly atMs: number; readonly gpus: readonly GpuReading[] };

/** Watches GPUs until it is closed. */
export interface GpuWatch {
  /** `nvidia-smi` or `rocm-smi` once it has answered. */
  readonly program: string | null;
  close(): void;
}

/** The part of Node's `process` that is used. */
export type GpuProcess = {
  getBuiltinModule(name: string): unknown;
  readonly env: Readonly<Record<string, string | undefined>>;
};

const NVIDIA_INTERVAL_MS = 500;
const AMD_INTERVAL_MS = 1000;
const MEBIBYTE = 1024 * 1024;
/** Both programs print little; what is longer is something else. */
const MAX_PENDING_CHARS = 262_144;

/** Calls back with each sample. Where no program can be started, it never does. */
export function watchGpus(process: GpuProcess, onSample: (sample: GpuSample) => void): GpuWatch {
  const programs = process.getBuiltinModule('node:child_process') as ChildPrograms;
  let program: string | null = null;
  let current: ChildProgram | undefined;
  let isOpen = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (name: string, sample: GpuSample): void => {
    if (!isOpen || sample.gpus.length === 0) return;
    program = name;
    onSample(sample);
  };
  const start = (
    command: string,
    args: readonly string[],
    listeners: { data: (text: string) => void; end: () => void },
  ): void => {
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      if (current === child) current = undefined;
      if (isOpen) listeners.end();
    };
    let child: ChildProgram | undefined;
    try {
      child = programs.spawn(command, args, {
        stdio: ['ignore', 'pipe', 'ignore'],
        windowsHide: true,
      });
    } catch {
      return end(); // Node may start no programs here, or the system has no room for one.
    }
    current = child;
    // Before anything else: Deno tells of a missing program at once, and an error without a listener ends the process.
    child.on('error', end);
    child.on('close', end);
    releaseChild(child);
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', listeners.data);
  };
  const askAmd = (): void => {
    let text = '';
    start('rocm-smi', ['--showmeminfo', 'vram', '--showproductname', '--json'], {
      data: (more) => (text = (text + more).slice(0, MAX_PENDING_CHARS)),
      end() {
        const visible = visibleIndices(process.env, [
          'HIP_VISIBLE_DEVICES',
          'CUDA_VISIBLE_DEVICES',
        ]);
        const gpus = parseRocm(text).filter(({ index }) => visible?.has(String(index)) ?? true);
        tell('rocm-smi', { atMs: performance.now(), gpus });
        if (gpus.length === 0) return;
        timer = setTimeout(askAmd, AMD_INTERVAL_MS);
        (timer as { unref?: () => void }).unref?.();
      },
    });
  };
  const lines = new NvidiaLines((sample) => tell('nvidia-smi', sample));
  start('nvidia-smi', nvidiaArguments(process.env), {
    data: (text) => lines.add(text, performance.now()),
    end: () => (program === null ? askAmd() : undefined),
  });
  return {
    get program() {
      return program;
    },
    close() {
      lines.finish();
      isOpen = false;
      clearTimeout(timer);
      // Killing what never started would send the signal to process 0: everybody in our group.
      if (current?.pid !== undefined) current.kill();
    },
  };
}

function nvidiaArguments(env: GpuProcess['env']): string[] {
  const visible = env['CUDA_VISIBLE_DEVICES'];
  return [
    '--query-gpu=index,name,memory.used,memory.total',
    '--format=csv,noheader,nounits',
    '-lms',
    String(NVIDIA_INTERVAL_MS),
    // Indices and UUIDs, as `nvidia-smi` takes them.
    ...(visible === undefined || visible === '' ? [] : ['-i', visible]),
  ];
}

function visibleIndices(
  env: GpuProcess['env'],
  names: readonly string[],
): ReadonlySet<string> | undefined {
  for (const name of names) {
    const value = env[name];
    if (value !== undefined && value !== '')
      return new Set(value.split(',').map((one) => one.trim()));
  }
  return undefined;
}

/** The lines of `nvidia-smi`, a GPU each: a sample is complete when the first GPU comes again. */
class NvidiaLines {
  readonly #onSample: (sample: GpuSample) => void;
  #pending = '';
  #gpus: GpuReading[] = [];
  /** GPUs of a complete sample; 0 before the first. */
  #size = 0;
  #atMs = 0;

  constructor(onSample: (sample: GpuSample) => void) {
    this.#onSample = onSample;
  }

  add(text: string, nowMs: number): void {
    const lines = (this.#pending + text).split('\n');
    this.#pending = (lines.pop() ?? '').slice(-MAX_PENDING_CHARS);
    for (const line of lines) {
      const gpu = parseNvidia(line);
      if (gpu === undefined) continue;
      if (this.#gpus.some(({ index }) => index === gpu.index)) this.#complete();
      this.#gpus.push(gpu);
      this.#atMs = nowMs;
    }
  }

  /** The last sample, where none of its GPUs is missing. */
  finish(): void {
    if (this.#gpus.length === this.#size) this.#complete();
  }

  #complete(): void {
    this.#size = this.#gpus.length;
    if (this.#gpus.length > 0) this.#onSample({ atMs: this.#atMs, gpus: this.#gpus });
    this.#gpus = [];
  }
}

function parseNvidia(line: string): GpuReading | undefined {
  const [index, name, used, total, ...rest] = line.split(',').map((cell) => cell.trim());
  const [indexNumber, usedNumber, totalNumber] = [index, used, total].map(numberOf);
  if (rest.length > 0 || indexNumber === undefined || usedNumber === undefined) return undefined;
  return {
    index: indexNumber,
    name: name === undefined || name === '' ? null : name,
    usedBytes: Math.round(usedNumber * MEBIBYTE),
    totalBytes: totalNumber === undefined ? null : Math.round(totalNumber * MEBIBYTE),
  };
}

/** What `rocm-smi --json` prints: an object with an entry for each card. */
export function parseRocm(text: string): readonly GpuReading[] {
  let cards: unknown;
  try {
    // Older versions print warnings before the object.
    cards = JSON.parse(text.slice(text.indexOf('{')));
  } catch {
    return [];
  }
  if (typeof cards !== 'object' || cards === null) return [];
  return Object.entries(cards).flatMap(([card, facts]: [string, unknown]) => {
    const index = /^card(\d+)$/.exec(card)?.[1];
    if (index === undefined || typeof facts !== 'object' || facts === null) return [];
    const fact = (pattern: RegExp): string | undefined => {
      const found: unknown = Object.entries(facts).find(([name]) => pattern.test(name))?.[1];
      return typeof found === 'string' ? found : undefined;
    };
    const used = numberOf(fact(/^VRAM Total Used Memory \(B\)$/i));
    if (used === undefined) return [];
    return [
      {
        index: Number(index),
        name: fact(/^Card Series$/i) ?? fact(/^Card Model$/i) ?? null,
        usedBytes: used,
        totalBytes: numberOf(fact(/^VRAM Total Memory \(B\)$/i)) ?? null,
      },
    ];
  });
}

function numberOf(cell: string | undefined): number | undefined {
  return cell !== undefined && /^\d+(\.\d+)?$/.test(cell) ? Number(cell) : undefined;
}
