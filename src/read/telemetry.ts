/** System telemetry of a run. */
import { checkLiteral } from '../base/assert.ts';
import { TELEMETRY_BOUNDARIES, type TelemetryBoundary } from '../records/literals.ts';
import { systemTelemetryTable, type SystemTelemetryRecord } from '../records/system-telemetry.ts';
import type { Store } from '../store/store.ts';
import { checkPosition, type PositionFilter } from './filters.ts';
import { readKeyedRecords } from './keyed-records.ts';
import type { RecordsRead } from './metric-records.ts';

/** Which telemetry to read. All conditions are joined by "and". */
export type TelemetryFilter = PositionFilter & {
  readonly boundary?: TelemetryBoundary | undefined;
};

/** Telemetry in the order it was persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readTelemetry(
  store: Store,
  runId: string,
  filter: TelemetryFilter = {},
): Promise<RecordsRead<SystemTelemetryRecord>> {
  const position = checkPosition(filter, ['boundary']);
  const { boundary } = filter;
  if (boundary !== undefined) checkLiteral('boundary', boundary, TELEMETRY_BOUNDARIES);
  return readKeyedRecords(store, systemTelemetryTable, runId, { boundary }, position);
}
