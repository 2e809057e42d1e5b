/**
 * How much the runs and blobs of each project take up, and the quotas that limit it. Counters change in the transaction that
 * changes what they count. Each project has several lines of counters, so that appends to different runs do not wait for each
 * other; their sum counts. A transaction changes counters after it has locked its streams.
 */
import {
  addUsage,
  NO_QUOTA,
  NO_USAGE,
  QUOTA_RESOURCES,
  useOf,
  type QuotaLimits,
  type QuotaUse,
  type SpaceQuotas,
  type UsedAmounts,
} from '../quotas.ts';
import { DOCUMENT_NOTES, documentPrefix } from '../documents.ts';
import {
  AFTER_ASCII,
  numberCell,
  optionalNumberCell,
  placeholders,
  sql,
  sqlOne,
  textCell,
  together,
  type SqlCall,
  type SqlRow,
  type SqlWork,
} from './sql-database.ts';
import { lockRunStreams } from './sql-streams.ts';

/** Lines of counters of one project. */
const SHARDS = 8;
/** The project of what belongs to none: blobs. */
const NO_PROJECT = '';

const COLUMNS = 'space, project_id, shard, size_bytes, segment_count, run_count';
const ADD = `ON CONFLICT (space, project_id, shard) DO UPDATE SET
  size_bytes = usage_counters.size_bytes + excluded.size_bytes,
  segment_count = usage_counters.segment_count + excluded.segment_count,
  run_count = usage_counters.run_count + excluded.run_count`;
const PROJECT_OF = "coalesce((SELECT project_id FROM runs WHERE space = ? AND id = ?), '')";
/** Each note of a document beside the project that it belongs to. "0" is what follows "/" in the order of characters. */
export const DOCUMENTS_OF_PROJECTS: string = `projects JOIN notes ON notes.space = projects.space
  AND notes.name >= '${DOCUMENT_NOTES}' || projects.id || '/' AND notes.name < '${DOCUMENT_NOTES}' || projects.id || '0'`;
const SUMS =
  'coalesce(sum(size_bytes), 0), coalesce(sum(segment_count), 0), coalesce(sum(run_count), 0)';

/** Counts segments of a run that are added, or, with negative numbers, removed. */
export function countSegments(
  {
    space,
    runId,
    streamKey,
  }: { readonly space: string; readonly runId: string; readonly streamKey: number },
  bytes: number,
  segments: number,
): SqlCall {
  return sql(
    `INSERT INTO usage_counters (${COLUMNS}) VALUES (?, ${PROJECT_OF}, ?, ?, ?, 0) ${ADD}`,
    space,
    space,
    runId,
    streamKey % SHARDS,
    bytes,
    segments,
  );
}

/** Takes all segments of a stream from the counters, before they are removed. */
export function uncountStream(space: string, runId: string, streamKey: number): SqlCall {
  return sql(
    `INSERT INTO usage_counters (${COLUMNS}) VALUES (?, ${PROJECT_OF}, ?,
       -(SELECT coalesce(sum(size_bytes), 0) FROM segments WHERE stream_key = ?),
       -(SELECT count(*) FROM segments WHERE stream_key = ?), 0) ${ADD}`,
    space,
    space,
    runId,
    streamKey % SHARDS,
    streamKey,
    streamKey,
  );
}

/** Counts a blob, which belongs to no project. */
export function countBlob(space: string, bytes: number): SqlCall {
  return countBytes(space, NO_PROJECT, bytes);
}

/** Counts bytes of a project that are no segments: that are added, or, with a negative number, removed. */
export function countBytes(space: string, projectId: string, bytes: number): SqlCall {
  return sql(
    `INSERT INTO usage_counters (${COLUMNS}) VALUES (?, ?, 0, ?, 0, 0) ${ADD}`,
    space,
    projectId,
    bytes,
  );
}

/** Removes the documents of a project that is removed, and takes them from its counters. */
export function* removeDocuments(space: string, projectId: string): SqlWork<void> {
  const prefix = documentPrefix(projectId);
  const removed = yield sql(
    'DELETE FROM notes WHERE space = ? AND name >= ? AND name < ? RETURNING octet_length(body)',
    space,
    prefix,
    prefix + AFTER_ASCII,
  );
  const bytes = removed.reduce((sum, row) => sum + numberCell(row, 0), 0);
  if (bytes > 0) yield countBytes(space, projectId, -bytes);
}

/** Takes blobs from the counters of a space that they were removed from. */
export function* uncountBlobs(space: string, hashes: readonly string[]): SqlWork<void> {
  if (hashes.length === 0) return;
  const [row] = yield sqlOne(
    `SELECT coalesce(sum(size_bytes), 0) FROM blobs WHERE sha256 IN (${placeholders(hashes)})`,
    ...hashes,
  );
  if (row !== undefined) yield countBlob(space, -numberCell(row, 0));
}

/**
 * Counts a run with all its segments (1), or takes them away (-1): while its line is in the table of runs, and its streams are
 * locked where it has any.
 */
export function countRun(space: string, runId: string, sign: 1 | -1): SqlCall {
  const segments =
    'FROM segments WHERE stream_key IN (SELECT stream_key FROM streams WHERE streams.space = runs.space AND streams.run_id = runs.id)';
  return sql(
    `INSERT INTO usage_counters (${COLUMNS})
     SELECT runs.space, runs.project_id, 0, ${sign} * (SELECT coalesce(sum(size_bytes), 0) ${segments}),
       ${sign} * (SELECT count(*) ${segments}), ${sign}
     FROM runs WHERE runs.space = ? AND runs.id = ? ${ADD}`,
    space,
    runId,
  );
}

/** Takes a run from the counters of its project if this change moves it to another one; returns whether it does. */
export function* uncountMoved(
  space: string,
  run: { readonly id: string; readonly revision: number; readonly projectId: string },
): SqlWork<boolean> {
  const moved = yield sqlOne(
    'SELECT 1 FROM runs WHERE space = ? AND id = ? AND revision = ? AND project_id <> ?',
    space,
    run.id,
    run.revision,
    run.projectId,
  );
  if (moved.length === 0) return false;
  yield* lockRunStreams(space, run.id);
  yield countRun(space, run.id, -1);
  return true;
}

/**
 * Counts everything in a space anew, to repair counters. An append that is committed between its statements may be counted
 * twice; the next count repairs that.
 */
export function* recountSpace(space: string): SqlWork<void> {
  yield sql('DELETE FROM usage_counters WHERE space = ?', space);
  yield sql(
    `INSERT INTO usage_counters (${COLUMNS})
     SELECT runs.space, runs.project_id, 0, coalesce(sum(segments.size_bytes), 0), count(segments.segment_key), count(DISTINCT runs.id)
     FROM runs LEFT JOIN streams ON streams.space = runs.space AND streams.run_id = runs.id
     LEFT JOIN segments ON segments.stream_key = streams.stream_key
     WHERE runs.space = ? GROUP BY runs.space, runs.project_id ${ADD}`,
    space,
  );
  yield sql(
    `INSERT INTO usage_counters (${COLUMNS})
     SELECT blob_spaces.space, '', 0, coalesce(sum(blobs.size_bytes), 0), 0, 0
     FROM blob_spaces JOIN blobs ON blobs.sha256 = blob_spaces.sha256
     WHERE blob_spaces.space = ? GROUP BY blob_spaces.space ${ADD}`,
    space,
  );
  yield sql(
    `INSERT INTO usage_counters (${COLUMNS})
     SELECT projects.space, projects.id, 0, sum(octet_length(notes.body)), 0, 0 FROM ${DOCUMENTS_OF_PROJECTS}
     WHERE projects.space = ? GROUP BY projects.space, projects.id ${ADD}`,
    space,
  );
}

/** Id of the user whose space the database calls this; the space of a store without a service is that of `local`. */
function ownerIdOf(space: string): string {
  const cut = space.indexOf('/');
  return cut < 0 ? 'local' : space.slice(0, cut);
}

/** The condition for the spaces of a user, and its parameters. "0" is what follows "/" in the order of characters. */
function spacesOf(ownerId: string): readonly [condition: string, params: readonly string[]] {
  const range = '(space >= ? AND space < ?)';
  const params = [`${ownerId}/`, `${ownerId}0`];
  return ownerId === 'local' ? [`(space = '' OR ${range})`, params] : [range, params];
}

function userUsage(ownerId: string): SqlCall {
  const [condition, params] = spacesOf(ownerId);
  return sqlOne(`SELECT ${SUMS} FROM usage_counters WHERE ${condition}`, ...params);
}

function projectUsage(space: string, projectId: string): SqlCall {
  const where = 'WHERE space = ? AND project_id = ?';
  return sqlOne(`SELECT ${SUMS} FROM usage_counters ${where}`, space, projectId);
}

function usageIn(row: SqlRow | undefined, at = 0): UsedAmounts {
  if (row === undefined) return NO_USAGE;
  const [bytes, segments, runs] = [0, 1, 2].map((i) => Math.max(0, numberCell(row, at + i)));
  return { bytes: bytes ?? 0, segments: segments ?? 0, runs: runs ?? 0 };
}

/** How much a user takes up, in all spaces. */
export function* usageOfUser(ownerId: string): SqlWork<UsedAmounts> {
  const [row] = yield userUsage(ownerId);
  return usageIn(row);
}

/** How much each project of a user takes up; blobs, which belong to none, as the project `''`. */
export function* usageByProject(
  ownerId: string,
): SqlWork<
  readonly { readonly space: string; readonly projectId: string; readonly usage: UsedAmounts }[]
> {
  const [condition, params] = spacesOf(ownerId);
  const rows = yield sql(
    `SELECT text(space), text(project_id), ${SUMS} FROM usage_counters WHERE ${condition} GROUP BY space, project_id`,
    ...params,
  );
  return rows.map((row) => ({
    space: textCell(row, 0),
    projectId: textCell(row, 1),
    usage: usageIn(row, 2),
  }));
}

/** What is about to be stored: of a project, of a run, or (blobs) of neither. */
export type Addition = UsedAmounts & {
  readonly projectId?: string | undefined;
  readonly runId?: string | undefined;
};

/** There is room where so much is left: users do not store as much in a second, which is how long it is believed. */
const ROOM: UsedAmounts = { bytes: 4 * 1024 ** 3, runs: 10_000, segments: 1_000_000 };

/**
 * Refuses what would pass a quota of the space. Transactions that run at the same moment do not see each other: each of them
 * passes it by what it adds at most.
 *
 * @throws {SessionStoreError} `quota`
 */
export function* checkQuotas(
  space: string,
  quotas: SpaceQuotas | undefined,
  additions: readonly Addition[],
): SqlWork<void> {
  if (quotas === undefined || quotas.hasRoom) return;
  const byProject = yield* additionsByProject(space, quotas, additions);
  const hasUserQuota = QUOTA_RESOURCES.some((resource) => quotas.user[resource] !== null);
  const answers = yield* together([
    ...(hasUserQuota ? [userUsage(ownerIdOf(space))] : []),
    ...[...byProject.keys()].map((projectId) => projectUsage(space, projectId)),
  ]);
  let at = 0;
  const uses: QuotaUse[] = [];
  if (hasUserQuota) {
    const added = additions.reduce<UsedAmounts>(addUsage, NO_USAGE);
    uses.push(...useOf(quotas.user, usageIn(answers[at++]?.[0]), added));
  }
  for (const [projectId, added] of byProject) {
    const { limits, name } = quotas.projects.get(projectId) ?? { limits: NO_QUOTA, name: '' };
    uses.push(...useOf(limits, usageIn(answers[at++]?.[0]), added, name));
  }
  quotas.onUse(uses);
  // A project that was not asked about may have less room.
  if (quotas.projects.size === 0)
    quotas.hasRoom = uses.every(({ resource, used, limit }) => limit - used > ROOM[resource]);
}

/** What is added to each project that has a quota. */
function* additionsByProject(
  space: string,
  quotas: SpaceQuotas,
  additions: readonly Addition[],
): SqlWork<ReadonlyMap<string, UsedAmounts>> {
  const sums = new Map<string, UsedAmounts>();
  if (quotas.projects.size === 0) return sums;
  const runIds = additions.flatMap(({ runId }) => runId ?? []);
  const answers = yield* together(
    runIds.map((runId) =>
      sqlOne('SELECT text(project_id) FROM runs WHERE space = ? AND id = ?', space, runId),
    ),
  );
  const projectOf = new Map(
    runIds.map((runId, i) => {
      const row = answers[i]?.[0];
      return [runId, row === undefined ? NO_PROJECT : textCell(row, 0)];
    }),
  );
  for (const addition of additions) {
    const projectId = addition.projectId ?? projectOf.get(addition.runId ?? '') ?? NO_PROJECT;
    if (quotas.projects.has(projectId))
      sums.set(projectId, addUsage(sums.get(projectId) ?? NO_USAGE, addition));
  }
  return sums;
}

/** A quota as stored: of a user, or of a project (id and name) in one of the user's spaces, as the database names it. */
export type StoredQuota = {
  readonly ownerId: string;
  readonly limits: QuotaLimits;
  readonly project?:
    | { readonly space: string; readonly id: string; readonly name: string }
    | undefined;
};

/** All quotas, or those of one user; a project that is not there any more has none. */
export function* listQuotas(ownerId?: string): SqlWork<readonly StoredQuota[]> {
  const [where, params] = ownerId === undefined ? ['', []] : ['AND quotas.owner_id = ?', [ownerId]];
  const rows = yield sql(
    `SELECT text(quotas.owner_id), quotas.max_bytes, quotas.max_runs, quotas.max_segments,
       text(quotas.space), text(quotas.project_id), text(projects.name)
     FROM quotas LEFT JOIN projects ON projects.space = quotas.space AND projects.id = quotas.project_id
     WHERE (quotas.project_id = '' OR projects.name IS NOT NULL) ${where}
     ORDER BY quotas.owner_id, quotas.space, quotas.project_id`,
    ...params,
  );
  return rows.map((row) => {
    const id = textCell(row, 5);
    return {
      ownerId: textCell(row, 0),
      limits: {
        bytes: optionalNumberCell(row, 1),
        runs: optionalNumberCell(row, 2),
        segments: optionalNumberCell(row, 3),
      },
      ...(id === '' ? {} : { project: { space: textCell(row, 4), id, name: textCell(row, 6) } }),
    };
  });
}

/** Sets the quota of a user, or of a project; one without a limit is removed. */
export function* putQuota({ ownerId, limits, project }: StoredQuota, nowMs: number): SqlWork<void> {
  const name = [ownerId, project?.space ?? '', project?.id ?? ''];
  if (QUOTA_RESOURCES.every((resource) => limits[resource] === null)) {
    yield sql('DELETE FROM quotas WHERE owner_id = ? AND space = ? AND project_id = ?', ...name);
    return;
  }
  yield sql(
    `INSERT INTO quotas (owner_id, space, project_id, max_bytes, max_runs, max_segments, set_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner_id, space, project_id) DO UPDATE SET
       max_bytes = excluded.max_bytes, max_runs = excluded.max_runs,
       max_segments = excluded.max_segments, set_at_ms = excluded.set_at_ms`,
    ...name,
    limits.bytes,
    limits.runs,
    limits.segments,
    nowMs,
  );
}
