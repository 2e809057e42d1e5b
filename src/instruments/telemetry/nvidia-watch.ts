/** NVIDIA's GPUs, as `nvidia-smi` prints them once a second. One process for the whole session; where there is none, nothing. */
import { releaseChild, type ChildProgram, type ChildPrograms } from './child-program.ts';
import { percentOf, type MachineReading, type MachineWatch } from './machine.ts';
import type { NodeProcess } from './node-watch.ts';

const FIELDS = 'index,name,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw';
const INTERVAL_MS = 1000;
/** A reading older than this is no reading: the driver hangs. */
const STALE_MS = 10_000;
const MEBIBYTE = 1024 * 1024;
/** `nvidia-smi` prints short lines; what has no end by then is something else. */
const MAX_PENDING_CHARS = 65_536;

/**
 * Watches one GPU.
 *
 * @param gpuIndex as `nvidia-smi` counts them; null: the first
 */
export function watchNvidia(process: NodeProcess, gpuIndex: number | null): MachineWatch {
  const programs = process.getBuiltinModule('node:child_process') as ChildPrograms;
  let reading: Partial<MachineReading> | undefined;
  let readAtMs = 0;
  let pending = '';
  let isAlive = true;
  const queryArguments = [
    `--query-gpu=${FIELDS}`,
    '--format=csv,noheader,nounits',
    '-lms',
    String(INTERVAL_MS),
    ...(gpuIndex === null ? [] : ['-i', String(gpuIndex)]),
  ];
  let child: ChildProgram;
  try {
    child = programs.spawn('nvidia-smi', queryArguments, {
      stdio: ['ignore', 'pipe', 'ignore'],
      windowsHide: true,
    });
  } catch {
    // Node may start no programs here (its permission model), or the system has no room for one.
    return { read: () => ({}), close: () => undefined };
  }
  const end = (): void => {
    isAlive = false;
    reading = undefined;
  };
  // Before anything else: Deno tells of a missing program at once, and an error without a listener ends the process.
  child.on('error', end);
  child.on('exit', end);
  releaseChild(child);
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text) => {
    const lines = (pending + text).split('\n');
    pending = (lines.pop() ?? '').slice(-MAX_PENDING_CHARS);
    for (const line of lines) {
      const parsed = parseNvidiaLine(line);
      // Of several GPUs each prints a line a second; without a wish it is the first that counts.
      if (
        parsed === undefined ||
        (gpuIndex ?? reading?.gpuIndex ?? parsed.gpuIndex) !== parsed.gpuIndex
      )
        continue;
      reading = parsed;
      readAtMs = performance.now();
    }
  });
  return {
    read: () =>
      isAlive && reading !== undefined && performance.now() - readAtMs <= STALE_MS ? reading : {},
    close() {
      // Killing what never started would send the signal to process 0: everybody in our group.
      if (isAlive && child.pid !== undefined) child.kill();
      end();
    },
  };
}

/** One line of CSV; undefined for anything else. What a card does not report is printed as `[N/A]`. */
export function parseNvidiaLine(line: string): Partial<MachineReading> | undefined {
  const cells = line.split(',').map((cell) => cell.trim());
  if (cells.length !== 7) return undefined;
  const [index, name, load, used, total, temperature, power] = cells;
  const gpuIndex = numberOf(index);
  if (gpuIndex === null || !Number.isInteger(gpuIndex)) return undefined;
  const usedBytes = bytesOf(used);
  const totalBytes = bytesOf(total);
  return {
    gpuIndex,
    gpuName: name === undefined || name === '' ? null : name,
    gpuUtilizationPercent: percentOf(numberOf(load), 100),
    gpuMemoryUsedBytes: usedBytes,
    gpuMemoryTotalBytes: totalBytes,
    gpuMemoryUsagePercent: percentOf(usedBytes, totalBytes),
    gpuTemperatureCelsius: numberOf(temperature),
    gpuPowerWatts: numberOf(power),
  };
}

function numberOf(cell: string | undefined): number | null {
  return cell !== undefined && /^\d+(\.\d+)?$/.test(cell) ? Number(cell) : null;
}

function bytesOf(cell: string | undefined): number | null {
  const mebibytes = numberOf(cell);
  return mebibytes === null ? null : Math.round(mebibytes * MEBIBYTE);
}
