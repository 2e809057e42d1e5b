/** What a machine tells of itself. */
import type { SystemTelemetryRecord } from '../../records/system-telemetry.ts';

/** The fields of a telemetry record that a platform fills in; null is what it cannot tell. */
export type MachineReading = Pick<
  SystemTelemetryRecord,
  | 'cpuUsagePercent'
  | 'ramUsagePercent'
  | 'ramUsedBytes'
  | 'ramTotalBytes'
  | 'processRssBytes'
  | 'gpuIndex'
  | 'gpuName'
  | 'gpuUtilizationPercent'
  | 'gpuMemoryUsedBytes'
  | 'gpuMemoryTotalBytes'
  | 'gpuMemoryUsagePercent'
  | 'gpuTemperatureCelsius'
  | 'gpuPowerWatts'
  | 'heapUsedBytes'
  | 'pageMemoryBytes'
  | 'diskReadBytes'
  | 'diskWriteBytes'
  | 'longTaskMs'
  | 'longFrameMs'
  | 'tensorCount'
  | 'tensorBytes'
  | 'batteryPercent'
  | 'isCharging'
>;

/** A reading in which nothing is known. */
export const UNKNOWN_READING: MachineReading = Object.freeze({
  cpuUsagePercent: null,
  ramUsagePercent: null,
  ramUsedBytes: null,
  ramTotalBytes: null,
  processRssBytes: null,
  gpuIndex: null,
  gpuName: null,
  gpuUtilizationPercent: null,
  gpuMemoryUsedBytes: null,
  gpuMemoryTotalBytes: null,
  gpuMemoryUsagePercent: null,
  gpuTemperatureCelsius: null,
  gpuPowerWatts: null,
  heapUsedBytes: null,
  pageMemoryBytes: null,
  diskReadBytes: null,
  diskWriteBytes: null,
  longTaskMs: null,
  longFrameMs: null,
  tensorCount: null,
  tensorBytes: null,
  batteryPercent: null,
  isCharging: null,
});

/** Reads the machine. Reading is synchronous: what takes longer is watched in the background, and its last value read. */
export interface MachineWatch {
  /** The machine now. */
  read(): Partial<MachineReading>;
  /** Ends what runs in the background. */
  close(): void;
}

/** What to watch. */
export type WatchOptions = {
  readonly captureCpu: boolean;
  readonly captureGpu: boolean;
  readonly gpuIndex: number | null;
};

/** A share of a whole as percent, within 0 and 100; null where it cannot be told. */
export function percentOf(part: number | null, whole: number | null): number | null {
  if (part === null || whole === null || !(whole > 0)) return null;
  return Math.min(100, Math.max(0, (100 * part) / whole));
}

/** A count as a record takes it; null for what is none. */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
    ? Math.round(value)
    : null;
}
