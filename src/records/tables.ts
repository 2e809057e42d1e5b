/** All tables, by name. A new table is one new file and one line here. */
import type { TableDefinition } from '../schema/table.ts';
import { alertTable } from './alert.ts';
import { artifactTable } from './artifact.ts';
import { batchDiagnosticTable } from './batch-diagnostic.ts';
import { eventTable } from './event.ts';
import { healthScoreTable } from './health-score.ts';
import { layerSummaryTable } from './layer-summary.ts';
import { metricTable } from './metric.ts';
import { parameterDistributionTable } from './parameter-distribution.ts';
import { parameterSummaryTable } from './parameter-summary.ts';
import { phaseTable } from './phase.ts';
import { systemTelemetryTable } from './system-telemetry.ts';

const ALL: readonly TableDefinition[] = [
  metricTable,
  eventTable,
  systemTelemetryTable,
  layerSummaryTable,
  parameterSummaryTable,
  parameterDistributionTable,
  batchDiagnosticTable,
  artifactTable,
  alertTable,
  healthScoreTable,
  phaseTable,
];

/** Every table of the current schema. */
export const TABLES: ReadonlyMap<string, TableDefinition> = new Map(
  ALL.map((table) => [table.table, table]),
);
