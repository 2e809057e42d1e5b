/** Artifacts of a run. */
import { checkLiteral } from '../base/assert.ts';
import { invalidInput } from '../base/errors.ts';
import { artifactTable, type ArtifactRecord } from '../records/artifact.ts';
import { ARTIFACT_PAYLOAD_FORMATS, type ArtifactPayloadFormat } from '../records/literals.ts';
import type { Store } from '../store/store.ts';
import { checkPosition, type PositionFilter } from './filters.ts';
import { readKeyedRecords } from './keyed-records.ts';
import type { RecordsRead } from './metric-records.ts';

/** Which artifacts to read. All conditions are joined by "and". */
export type ArtifactFilter = PositionFilter & {
  readonly artifactId?: string | undefined;
  readonly artifactType?: string | undefined;
  /** Any of these types. */
  readonly artifactTypes?: readonly string[] | undefined;
  readonly namespace?: string | undefined;
  readonly artifactName?: string | undefined;
  readonly artifactKey?: string | undefined;
  readonly payloadFormat?: ArtifactPayloadFormat | undefined;
};

const TEXT_FILTERS = [
  'artifactId',
  'artifactType',
  'namespace',
  'artifactName',
  'artifactKey',
] as const;

/** Artifacts in the order they were persisted. @throws {QuarkError} `invalid_input` naming the filter */
export async function readArtifacts(
  store: Store,
  runId: string,
  filter: ArtifactFilter = {},
): Promise<RecordsRead<ArtifactRecord>> {
  const position = checkPosition(filter, [...TEXT_FILTERS, 'artifactTypes', 'payloadFormat']);
  for (const name of TEXT_FILTERS) {
    const value = filter[name];
    if (value !== undefined && typeof value !== 'string') throw invalidInput(name, value, 'text');
  }
  const { artifactId, artifactType, artifactTypes, namespace, payloadFormat } = filter;
  if (artifactTypes !== undefined && !Array.isArray(artifactTypes))
    throw invalidInput('artifactTypes', artifactTypes, 'a list of artifact types');
  if (payloadFormat !== undefined)
    checkLiteral('payloadFormat', payloadFormat, ARTIFACT_PAYLOAD_FORMATS);
  const { artifactName, artifactKey } = filter;
  const found = await readKeyedRecords(
    store,
    artifactTable,
    runId,
    { artifactType, namespace, artifactName, artifactKey, payloadFormat },
    { ...position, limit: Number.POSITIVE_INFINITY },
  );
  const records = found.records.filter(
    (record) =>
      (artifactId === undefined || record.id === artifactId) &&
      (artifactTypes === undefined || artifactTypes.includes(record.artifactType)),
  );
  return {
    records: records.slice(Math.max(0, records.length - position.limit)),
    damage: found.damage,
  };
}
