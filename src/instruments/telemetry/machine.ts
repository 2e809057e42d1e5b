/** Readings of a machine. */
import type { SystemTelemetryRecord } from '../../records/system-telemetry.ts';

/** The fields of a telemetry record that a platform fills in. */
const MACHINE_FIELDS = [
  'cpuUsagePercent',
  'ramUsagePercent',
  'ramUsedBytes',
  'ramTotalBytes',
  'processRssBytes',
  'gpuIndex',
  'gpuName',
  'gpuUtilizationPercent',
  'gpuMemoryUsedBytes',
  'gpuMemoryTotalBytes',
  'gpuMemoryUsagePercent',
  'gpuTemperatureCelsius',
  'gpuPowerWatts',
  'heapUsedBytes',
  'pageMemoryBytes',
  'diskReadBytes',
  'diskWriteBytes',
  'longTaskMs',
  'longFrameMs',
  'tensorCount',
  'tensorBytes',
  'batteryPercent',
  'isCharging',
] as const;

/** A reading of the machine; null is what the platform does not know. */
export type MachineReading = Pick<SystemTelemetryRecord, (typeof MACHINE_FIELDS)[number]>;

/** A reading in which nothing is known. */
export const UNKNOWN_READING: MachineReading = Object.freeze(
  // Object.fromEntries forgets which names it was given.
  Object.fromEntries(MACHINE_FIELDS.map((field) => [field, null])) as MachineReading,
);

/** Reads the machine. Reading is synchronous: what takes longer is watched in the background, and its last value read. */
export interface MachineWatch {
  /** The machine now. */
  read(): Partial<MachineReading>;
  /** Ends what runs in the background. */
  close(): void;
}

/** What to watch. */
export type MachineWatchOptions = {
  readonly captureCpu: boolean;
  readonly captureGpu: boolean;
  readonly gpuIndex: number | null;
};

/** A share of a whole as percent, within 0 and 100; null where it is not known. */
export function percentOf(part: number | null, whole: number | null): number | null {
  if (part === null || whole === null || !(whole > 0)) return null;
  return Math.min(100, Math.max(0, (100 * part) / whole));
}

/** A count as a record takes it; null for what is none. */
export function countOrNull(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
    ? Math.round(value)
    : null;
}
