/** The counters of what runs and blobs take up, which quotas go by: compared with what is stored. */
import {
  numberCell,
  sql,
  textCell,
  type SqlRow,
  type SqlWork,
} from '../../store/sql/sql-database.ts';
import { DOCUMENTS_OF_PROJECTS } from '../../store/sql/sql-usage.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** One statement, so that what is written meanwhile is in both sides or in none. */
const DIFFERENCES = `SELECT text(space), CAST(sum(size_bytes) AS BIGINT), CAST(sum(segment_count) AS BIGINT), CAST(sum(run_count) AS BIGINT) FROM (
    SELECT space, project_id, size_bytes, segment_count, run_count FROM usage_counters
    UNION ALL
    SELECT runs.space, runs.project_id, -coalesce(sum(segments.size_bytes), 0), -count(segments.segment_key), -count(DISTINCT runs.id)
    FROM runs LEFT JOIN streams ON streams.space = runs.space AND streams.run_id = runs.id
    LEFT JOIN segments ON segments.stream_key = streams.stream_key GROUP BY runs.space, runs.project_id
    UNION ALL
    SELECT blob_spaces.space, '', -coalesce(sum(blobs.size_bytes), 0), 0, 0
    FROM blob_spaces JOIN blobs ON blobs.sha256 = blob_spaces.sha256 GROUP BY blob_spaces.space
    UNION ALL
    SELECT projects.space, projects.id, -sum(octet_length(notes.body)), 0, 0
    FROM ${DOCUMENTS_OF_PROJECTS} GROUP BY projects.space, projects.id
  ) AS counted GROUP BY space, project_id
  HAVING sum(size_bytes) <> 0 OR sum(segment_count) <> 0 OR sum(run_count) <> 0`;

/** Checks the counters of each project. */
export async function checkUsage(patient: Patient, report: Report): Promise<void> {
  const rows = await patient.read(function* (): SqlWork<readonly SqlRow[]> {
    return yield sql(DIFFERENCES);
  });
  for (const row of rows) {
    const space = textCell(row, 0);
    const [bytes, segments, runs] = [1, 2, 3].map((at) => numberCell(row, at));
    report({
      severity: 'warning',
      code: 'usage_wrong',
      where: space === '' ? patient.name : `${patient.name} ${space}`,
      message: `The counters of a project differ from what is stored by ${bytes} bytes, ${segments} segments and ${runs} runs.`,
      advice: '--repair counts anew, as "quark quota recount" does; quotas go by these counters.',
      repair: 'recount_usage',
      target: [space],
    });
  }
}
