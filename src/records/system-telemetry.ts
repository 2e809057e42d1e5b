import { bool, count, f64, jsonObject, key, literal, nullable } from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { TELEMETRY_BOUNDARIES } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  boundary: literal('What the record belongs to.', TELEMETRY_BOUNDARIES),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  stepTimeMs: nullable(f64('Duration of the step.', { unit: 'ms', min: 0 })),
  dataTimeMs: nullable(f64('Part of the step spent waiting for data.', { unit: 'ms', min: 0 })),
  computeTimeMs: nullable(f64('Part of the step spent computing.', { unit: 'ms', min: 0 })),
  cpuUsagePercent: nullable(f64('Load of the CPUs.', { unit: 'percent', min: 0, max: 100 })),
  ramUsagePercent: nullable(f64('Memory in use.', { unit: 'percent', min: 0, max: 100 })),
  ramUsedBytes: nullable(count('Memory in use.', 'bytes')),
  ramTotalBytes: nullable(count('Memory of the machine.', 'bytes')),
  processRssBytes: nullable(count('Resident memory of the process.', 'bytes')),
  gpuIndex: nullable(count('Which GPU was sampled.')),
  gpuName: nullable(key('Name of the GPU.')),
  gpuUtilizationPercent: nullable(f64('Load of the GPU.', { unit: 'percent', min: 0, max: 100 })),
  gpuMemoryUsedBytes: nullable(count('GPU memory in use.', 'bytes')),
  gpuMemoryTotalBytes: nullable(count('Memory of the GPU.', 'bytes')),
  gpuMemoryUsagePercent: nullable(f64('GPU memory in use.', { unit: 'percent', min: 0, max: 100 })),
  gpuTemperatureCelsius: nullable(f64('Temperature of the GPU.', { unit: 'celsius' })),
  gpuPowerWatts: nullable(f64('Power the GPU draws.', { unit: 'watts', min: 0 })),
  heapUsedBytes: nullable(count('JavaScript heap in use.', 'bytes')),
  pageMemoryBytes: nullable(count('Memory of the page with its workers and frames.', 'bytes')),
  diskReadBytes: nullable(
    count('Bytes the process has had read from disks since it started.', 'bytes'),
  ),
  diskWriteBytes: nullable(
    count('Bytes the process has had written to disks since it started.', 'bytes'),
  ),
  longTaskMs: nullable(
    f64('Time of tasks of 50 ms and more on the main thread since the last record.', {
      unit: 'ms',
      min: 0,
    }),
  ),
  longFrameMs: nullable(
    f64('Time of animation frames of 50 ms and more since the last record.', {
      unit: 'ms',
      min: 0,
    }),
  ),
  tensorCount: nullable(count('Tensors of the framework that are alive.')),
  tensorBytes: nullable(count('Bytes of the tensors of the framework.', 'bytes')),
  batteryPercent: nullable(f64('Charge of the battery.', { unit: 'percent', min: 0, max: 100 })),
  isCharging: nullable(bool('Whether the battery is being charged.')),
  overflowOccurred: bool('Whether gradients overflowed in the step.'),
  skippedStep: bool('Whether the optimizer skipped the step.'),
  overflowCount: count('Overflows so far.'),
  skippedStepCount: count('Skipped steps so far.'),
  metadata: nullable(jsonObject('Context of the sample.')),
};

/** What the machine did at a step or an instant. Null is what the platform cannot tell. */
export const systemTelemetryTable: TableDefinition<typeof columns> = defineTable(
  'system_telemetry',
  'telemetry',
  undefined,
  'What the machine did at a step or instant.',
  columns,
);

/** What the machine did at a step or an instant. Null is what the platform cannot tell. */
export type SystemTelemetryRecord = RecordOf<typeof columns>;
