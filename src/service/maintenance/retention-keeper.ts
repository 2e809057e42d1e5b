/** Applies the rules of each space, which are stored in the database. */
import type { Clock } from '../../base/clock.ts';
import { applyRetention, readRetention, RETENTION_NOTE } from '../../retention/apply.ts';
import { describeRule } from '../../retention/rules.ts';
import { sql, textCell, type SqlWork } from '../../store/sql/sql-database.ts';
import { AuditLog, MACHINE } from '../access/audit-log.ts';
import { auditStore } from '../access/audited.ts';
import { ownerOf } from '../access/principal.ts';
import { eachSpace, type SpaceWorkOptions } from './each-space.ts';
import type { MaintainedSpaces } from './maintenance.ts';

/** How the rules of all spaces are applied. */
export type RetentionKeeperOptions = SpaceWorkOptions & {
  readonly clock: Clock;
  readonly onApplied: (space: string, counts: RetentionCounts) => void;
};

/** What was done in a space. */
export type RetentionCounts = {
  readonly deleted: number;
  readonly archived: number;
  /** Runs whose metrics were downsampled, and how many of their rows are gone. */
  readonly downsampled: number;
  readonly downsampledRows: number;
  readonly skipped: number;
  /** Bytes of the runs that were deleted. */
  readonly deletedBytes: number;
};

/** Applies the rules of the spaces one after the other; false when it was stopped before the last. */
export async function retainSpaces(
  spaces: MaintainedSpaces,
  options: RetentionKeeperOptions,
): Promise<boolean> {
  const { clock, onApplied, signal } = options;
  const audit = new AuditLog(spaces.database, clock);
  const ruled = await spaces.database.read(listRuledSpaces);
  return eachSpace(spaces, ruled, options, async (store, space) => {
    const settings = await readRetention(store);
    if (settings === undefined) return;
    const audited = auditStore(store, { audit, actor: MACHINE, storedName: space });
    const { done, skipped } = await applyRetention(audited, settings, { clock, signal });
    if (done.length + skipped.length === 0) return;
    const counts = countsOf(done, skipped.length);
    const { name, ownerId } = ownerOf(space);
    await audit.record({
      ...MACHINE,
      action: 'retention.apply',
      target: { kind: 'space', id: name },
      ownerId,
      space: name,
      detail: {
        ...snakeCounts(counts),
        rules: settings.rules.map(describeRule),
        ...downsampledDetail(done),
      },
    });
    onApplied(space, counts);
  });
}

const MAX_LISTED = 20;

type Done = Awaited<ReturnType<typeof applyRetention>>['done'];

function countsOf(done: Done, skipped: number): RetentionCounts {
  const deleted = done.filter(({ act }) => act === 'delete');
  return {
    deleted: deleted.length,
    archived: done.filter(({ act }) => act === 'archive').length,
    downsampled: done.filter(({ act }) => act === 'thin').length,
    downsampledRows: done.reduce(
      (sum, { rows }) => sum + (rows === undefined ? 0 : rows.before - rows.after),
      0,
    ),
    skipped,
    deletedBytes: deleted.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Runs that were downsampled, as far as a line of the log has room for them; other acts have lines of their own. */
function downsampledDetail(done: Done): Record<string, unknown> {
  const lines = done.flatMap(({ rows, runId }) =>
    rows === undefined ? [] : [`${runId}: ${rows.before} to ${rows.after} rows`],
  );
  return lines.length === 0 ? {} : { downsampled_runs: lines.slice(0, MAX_LISTED) };
}

function snakeCounts({
  deletedBytes,
  downsampledRows,
  ...counts
}: RetentionCounts): Record<string, number> {
  return { ...counts, downsampled_rows: downsampledRows, deleted_bytes: deletedBytes };
}

/** The spaces that have rules. */
function* listRuledSpaces(): SqlWork<readonly string[]> {
  const rows = yield sql('SELECT text(space) FROM notes WHERE name = ?', RETENTION_NOTE);
  return rows.map((row) => textCell(row, 0)).sort();
}
