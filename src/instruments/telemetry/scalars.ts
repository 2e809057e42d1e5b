/** The numbers of a telemetry record as metrics. */
import type { SystemTelemetryRecord } from '../../records/system-telemetry.ts';

/** Metric key of each field that is recorded as a metric too. */
export const TELEMETRY_METRIC_KEYS = Object.freeze({
  stepTimeMs: 'system/runtime/step_time_ms',
  dataTimeMs: 'system/runtime/data_time_ms',
  computeTimeMs: 'system/runtime/compute_time_ms',
  cpuUsagePercent: 'system/cpu/usage_percent',
  ramUsagePercent: 'system/ram/usage_percent',
  ramUsedBytes: 'system/ram/used_bytes',
  processRssBytes: 'system/process/rss_bytes',
  gpuUtilizationPercent: 'system/gpu/utilization_percent',
  gpuMemoryUsedBytes: 'system/gpu/memory_used_bytes',
  gpuMemoryUsagePercent: 'system/gpu/memory_usage_percent',
  overflowCount: 'system/runtime/overflow_count',
  skippedStepCount: 'system/runtime/skipped_step_count',
  gpuTemperatureCelsius: 'system/gpu/temperature_celsius',
  gpuPowerWatts: 'system/gpu/power_watts',
  heapUsedBytes: 'system/process/heap_used_bytes',
  pageMemoryBytes: 'system/page/memory_bytes',
  diskReadBytes: 'system/disk/read_bytes',
  diskWriteBytes: 'system/disk/write_bytes',
  longTaskMs: 'system/page/long_task_ms',
  longFrameMs: 'system/page/long_frame_ms',
  tensorCount: 'system/tensors/count',
  tensorBytes: 'system/tensors/bytes',
} as const satisfies Partial<Record<keyof SystemTelemetryRecord, string>>);

type Field = keyof typeof TELEMETRY_METRIC_KEYS;
const ENTRIES = Object.entries(TELEMETRY_METRIC_KEYS) as readonly (readonly [Field, string])[];

/** The metrics of a record: fields that are null have none. */
export function scalarsOf(record: Pick<SystemTelemetryRecord, Field>): Record<string, number> {
  const scalars: Record<string, number> = {};
  for (const [field, key] of ENTRIES) {
    const value = record[field];
    if (value !== null) scalars[key] = value;
  }
  return scalars;
}
