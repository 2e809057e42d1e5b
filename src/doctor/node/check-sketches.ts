/** Opens the sketches of curves, which are notes beside the tables: what is drawn of a long run comes from them. */
import { isWholeSketch } from '../../read/curve-sketch.ts';
import { sketchName } from '../../store/curves.ts';
import { sql, sqlOne, textCell, type SqlRow, type SqlWork } from '../../store/sql/sql-database.ts';
import { shownName } from './check-runs.ts';
import type { Report } from './finding.ts';
import type { Patient } from './patient.ts';

/** Compares each sketch with its checksum. Which segments it is of is compared by each reader, and one of others is not used. */
export async function checkSketches(patient: Patient, report: Report): Promise<void> {
  const prefix = sketchName('');
  const names = await patient.read(function* (): SqlWork<readonly SqlRow[]> {
    return yield sql(
      'SELECT text(space), text(name) FROM notes WHERE name >= ? AND name < ?',
      prefix,
      `${prefix}~`,
    );
  });
  for (const row of names) {
    const space = textCell(row, 0);
    const name = textCell(row, 1);
    const body = await patient.read(() => readSketchText(space, name));
    // Removed since its name was read.
    if (body === undefined || isWholeSketch(body)) continue;
    report({
      severity: 'warning',
      code: 'sketch_damaged',
      where: shownName(space, name.slice(prefix.length)),
      message: 'The sketch of its curves, from which the run is drawn, is not as it was written.',
      advice: '--repair removes it. No record is lost: readers make it again from the rows.',
      repair: 'remove_sketch',
      target: [space, name],
    });
  }
}

/** The text of a sketch, as it is stored. */
export function* readSketchText(space: string, name: string): SqlWork<string | undefined> {
  const [row] = yield sqlOne(
    'SELECT text(body) FROM notes WHERE space = ? AND name = ?',
    space,
    name,
  );
  return row === undefined ? undefined : textCell(row, 0);
}
