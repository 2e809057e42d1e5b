/**
 * Whether the tables of the database agree: segments, their bytes, the counters of sequence numbers, the batches that were
 * merged. Each check is one statement, which sees one state also where others write.
 */
import {
  numberCell,
  sql,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import type { DoctorFinding, Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Rows of one check that become findings. */
const MAX_ROWS = 200;

const STREAM = 'text(streams.space), text(streams.run_id), text(streams.table_name)';

type Check = {
  /** Columns: space, run and table, then what `toFinding` takes. */
  readonly statement: string;
  readonly toFinding: (row: SqlRow) => Omit<DoctorFinding, 'where'>;
};

const RESTORE = 'Restore a backup, or have the client send the run again ("quark sync --again").';

const CHECKS: readonly Check[] = [
  {
    statement: `SELECT ${STREAM}, segments.segment_key FROM segments
      JOIN streams ON streams.stream_key = segments.stream_key
      LEFT JOIN segment_bytes ON segment_bytes.segment_key = segments.segment_key
      LEFT JOIN segment_objects ON segment_objects.segment_key = segments.segment_key
      WHERE segment_bytes.segment_key IS NULL AND segment_objects.segment_key IS NULL`,
    toFinding: (row) => ({
      severity: 'error',
      code: 'segment_bytes_missing',
      message: 'A segment has a manifest and no bytes.',
      advice: RESTORE,
      repair: 'quarantine_segment',
      target: [numberCell(row, 3)],
    }),
  },
  {
    statement: `SELECT ${STREAM}, streams.next_sequence, max(segments.last_sequence), streams.stream_key FROM streams
      JOIN segments ON segments.stream_key = streams.stream_key
      GROUP BY streams.stream_key, streams.space, streams.run_id, streams.table_name, streams.next_sequence
      HAVING max(segments.last_sequence) >= streams.next_sequence`,
    toFinding: (row) => ({
      severity: 'error',
      code: 'sequence_low',
      message: `The next row would get sequence number ${numberCell(row, 3)}, and a row has ${numberCell(row, 4)}.`,
      advice: '--repair raises the counter.',
      repair: 'raise_sequence',
      target: [numberCell(row, 5)],
    }),
  },
  {
    statement: `SELECT ${STREAM}, CAST(coalesce(sum(segments.row_count + coalesce(segments.dropped_rows, 0)), 0) AS BIGINT), streams.next_sequence FROM streams
      LEFT JOIN segments ON segments.stream_key = streams.stream_key
      LEFT JOIN stream_replacements ON stream_replacements.stream_key = streams.stream_key
      WHERE stream_replacements.stream_key IS NULL
      GROUP BY streams.stream_key, streams.space, streams.run_id, streams.table_name, streams.next_sequence
      HAVING coalesce(sum(segments.row_count + coalesce(segments.dropped_rows, 0)), 0) <> streams.next_sequence`,
    toFinding: (row) => {
      const rows = numberCell(row, 3);
      const next = numberCell(row, 4);
      return rows > next
        ? {
            severity: 'error',
            code: 'rows_doubled',
            message: `There are ${rows} rows, and ${next} were appended.`,
            advice: 'Restore a backup; readers see rows twice.',
          }
        : {
            severity: 'warning',
            code: 'rows_missing',
            message: `There are ${rows} rows, and ${next} were appended: ${next - rows} were taken away.`,
            advice: `Nothing is to be done where rows were removed on purpose. ${RESTORE}`,
          };
    },
  },
  {
    statement: `SELECT space, run_id, table_name, previous, first_sequence FROM (
        SELECT ${STREAM.replaceAll(/text\(streams\.(\w+)\)/g, 'text(streams.$1) AS $1')}, segments.first_sequence,
          lag(segments.last_sequence) OVER (PARTITION BY segments.stream_key ORDER BY segments.first_sequence) AS previous
        FROM segments JOIN streams ON streams.stream_key = segments.stream_key WHERE segments.sources IS NULL
      ) AS plain WHERE previous >= first_sequence`,
    toFinding: (row) => ({
      severity: 'error',
      code: 'sequence_doubled',
      message: `Two segments have the sequence number ${numberCell(row, 4)}.`,
      advice: 'Restore a backup; the order of their rows is not known.',
    }),
  },
  {
    statement: `SELECT ${STREAM}, text(segments.writer_id), segments.batch_number FROM segments
      JOIN streams ON streams.stream_key = segments.stream_key
      JOIN merged_batches ON merged_batches.stream_key = segments.stream_key
        AND merged_batches.writer_id = segments.writer_id
        AND merged_batches.batch_start <= segments.batch_number AND merged_batches.batch_last >= segments.batch_number
      WHERE segments.sources IS NULL`,
    toFinding: (row) => ({
      severity: 'error',
      code: 'batch_doubled',
      message: `Batch ${numberCell(row, 4)} of writer ${textCell(row, 3)} is there as a segment, and was merged into another one.`,
      advice: 'Restore a backup; readers may see its rows twice.',
    }),
  },
  {
    statement: `SELECT space, run_id, table_name, writer_id FROM (
        SELECT ${STREAM.replaceAll(/text\(streams\.(\w+)\)/g, 'text(streams.$1) AS $1')}, text(merged_batches.writer_id) AS writer_id,
          merged_batches.batch_start, lag(merged_batches.batch_last) OVER
            (PARTITION BY merged_batches.stream_key, merged_batches.writer_id ORDER BY merged_batches.batch_start) AS previous
        FROM merged_batches JOIN streams ON streams.stream_key = merged_batches.stream_key
      ) AS ranges WHERE previous >= batch_start`,
    toFinding: (row) => ({
      severity: 'warning',
      code: 'merged_ranges_overlap',
      message: `The merged batches of writer ${textCell(row, 3)} overlap.`,
      advice:
        'Rows can be read; a merge of these segments may fail. Restore a backup where that happens.',
    }),
  },
];

/** What nothing refers to: a table, the rows of it that another one should have, and the column that both have. */
const ORPHANS = [
  ['segments', 'streams', 'stream_key', 'error'],
  ['segment_bytes', 'segments', 'segment_key', 'warning'],
  ['segment_objects', 'segments', 'segment_key', 'warning'],
  ['merged_batches', 'streams', 'stream_key', 'warning'],
  ['stream_replacements', 'streams', 'stream_key', 'warning'],
] as const;

/** Checks the tables against each other. */
export async function checkStreams(patient: Patient, report: Report): Promise<void> {
  for (const { statement, toFinding } of CHECKS) {
    const rows = await patient.read(() => query(`${statement} LIMIT ${MAX_ROWS}`));
    for (const row of rows) report({ where: tableName(row), ...toFinding(row) });
  }
  for (const [table, owner, key, severity] of ORPHANS) {
    const [row] = await patient.read(() =>
      query(
        `SELECT count(*) FROM ${table} LEFT JOIN ${owner} ON ${owner}.${key} = ${table}.${key} WHERE ${owner}.${key} IS NULL`,
      ),
    );
    const count = row === undefined ? 0 : numberCell(row, 0);
    if (count > 0)
      report({
        severity,
        code: 'rows_without_owner',
        where: `${patient.name}, table ${table}`,
        message: `${count} rows name a row of ${owner} that is not there.`,
        advice: 'Nothing reads them. Restore a backup if a run lacks rows.',
      });
  }
}

/** `RUN/TABLE`, after the space where it has a name. */
function tableName(row: SqlRow): string {
  const space = textCell(row, 0);
  return `${space === '' ? '' : `${space}: `}${textCell(row, 1)}/${textCell(row, 2)}`;
}

function* query(text: string): SqlWork<readonly SqlRow[]> {
  return yield sql(text);
}
