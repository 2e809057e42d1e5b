/** How often each configuration of a project was run: the revision of a run is counted in the transaction that adds it. */
import { isUncounted } from '../run-rules.ts';
import type { StoredRun } from '../store.ts';
import {
  numberCell,
  optionalNumberCell,
  sql,
  textCell,
  together,
  type SqlRow,
  type SqlValue,
  type SqlWork,
} from './sql-database.ts';

type Configured = Pick<StoredRun, 'configHash' | 'configRevision'>;

/** Assignments of a change of a run: what is not given stays, and a new configuration has no revision yet. */
export const CHANGED_CONFIG = `config_revision = CASE
    WHEN CAST(? AS BIGINT) IS NOT NULL THEN CAST(? AS BIGINT)
    WHEN CAST(? AS TEXT) IS NULL OR config_hash = CAST(? AS TEXT) THEN config_revision ELSE NULL END,
  config_hash = coalesce(CAST(? AS TEXT), config_hash)`;

/** The parameters of {@link CHANGED_CONFIG}. */
export function changedConfigCells({
  configHash = null,
  configRevision = null,
}: {
  readonly [K in keyof Configured]: Configured[K] | null;
}): readonly SqlValue[] {
  return [configRevision, configRevision, configHash, configHash, configHash];
}

/** What a change has left, by its answer (hash, revision); counts the configuration where that is new. */
export function* changedConfig(space: string, run: StoredRun, answer: SqlRow): SqlWork<Configured> {
  if (answer[0] === null) return {};
  const configHash = textCell(answer, 0);
  const stored = optionalNumberCell(answer, 1) ?? undefined;
  const { configRevision: _given, ...rest } = run;
  const configRevision = stored ?? (yield* countConfig(space, { ...rest, configHash }));
  return { configHash, ...(configRevision === undefined ? {} : { configRevision }) };
}

/** Counts the configuration of a run that is stored, and writes down which one of it the run is. Undefined where nothing is known of it. */
export function* countConfig(
  space: string,
  run: Omit<StoredRun, 'revision'>,
): SqlWork<number | undefined> {
  const { configHash, configRevision, id, projectId } = run;
  if (configHash === undefined) return undefined;
  const key = [space, projectId, configHash];
  // What comes from another store has its revision: the next one here is greater.
  const next = isUncounted(run)
    ? 'config_revisions.last_revision + 1'
    : `CASE WHEN config_revisions.last_revision < excluded.last_revision
         THEN excluded.last_revision ELSE config_revisions.last_revision END`;
  const counting = sql(
    `INSERT INTO config_revisions (space, project_id, config_hash, last_revision) VALUES (?, ?, ?, ?)
     ON CONFLICT (space, project_id, config_hash) DO UPDATE SET last_revision = ${next}`,
    ...key,
    configRevision ?? 1,
  );
  if (configRevision !== undefined) {
    yield counting;
    return configRevision;
  }
  const [, [row] = []] = yield* together([
    counting,
    sql(
      `UPDATE runs SET config_revision = (SELECT last_revision FROM config_revisions
         WHERE space = ? AND project_id = ? AND config_hash = ?)
       WHERE space = ? AND id = ? RETURNING config_revision`,
      ...key,
      space,
      id,
    ),
  ]);
  return row === undefined ? undefined : numberCell(row, 0);
}
