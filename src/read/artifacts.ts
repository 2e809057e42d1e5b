/** Artifacts, read back. Apart from the other tables, which a page that only records does not read. */
import { artifactTable, type ArtifactRecord } from '../records/artifact.ts';
import type { ArtifactPayloadFormat } from '../records/literals.ts';
import { checkText, type PositionFilter } from './filters.ts';
import { readRecords, type RecordsRead } from './records.ts';
import { checkRunSource, type RunSource } from './scan.ts';

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

/**
 * Artifacts of a stored run, in the order they were persisted, and the segments that could not be read.
 *
 * @throws {QuarkError} `invalid_input` naming the run or the filter
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { ArtifactStore, readArtifacts } from 'quark-sdk/probes';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   const artifacts = new ArtifactStore(session);
 *   for (const step of [100, 200]) await artifacts.store('checkpoint', 'checkpoints/last', new Uint8Array(8), { step });
 *   return session.runId;
 * });
 * const { records, damage } = await readArtifacts({ store, runId }, { artifactKey: 'checkpoints/last' });
 * console.log(records.map(({ step }) => step), damage); // [ 100, 200 ] []
 * ```
 */
export async function readArtifacts(
  run: RunSource,
  filter: ArtifactFilter = {},
): Promise<RecordsRead<ArtifactRecord>> {
  const { artifactId } = filter;
  return readRecords(checkRunSource('run', run), artifactTable, filter, {
    columns: ['artifactType', 'namespace', 'artifactName', 'artifactKey', 'payloadFormat'],
    lists: { artifactTypes: 'artifactType' },
    others: { artifactId: checkText },
    where: artifactId === undefined ? undefined : ({ id }) => id === artifactId,
  });
}
