/** Which lines of a console are shown: by level, and by what they say. */
import { CONSOLE_LEVELS, type ConsoleLevel } from 'quark-sdk/console';
import { TurnBreak } from '../../parts/turns.ts';
import { lineText, type ConsoleColumns } from '../../worker/console-columns.ts';

/** Levels as they can be chosen: `none` has what was written to a stream without `console`. */
export const LEVEL_CHOICES = [...CONSOLE_LEVELS, 'none'] as const;
/** One of {@link LEVEL_CHOICES}. */
export type LevelChoice = ConsoleLevel | 'none';

/** Lines between two readings of the clock. */
const LINES_PER_TURN = 2000;

/** The level of a line. */
export function lineLevel({ levels }: ConsoleColumns, line: number): LevelChoice {
  return CONSOLE_LEVELS[(levels[line] ?? 0) - 1] ?? 'none';
}

/** How many lines of each level there are. */
export function levelCounts({ levels }: ConsoleColumns): ReadonlyMap<LevelChoice, number> {
  const counts = new Uint32Array(CONSOLE_LEVELS.length + 1);
  for (const level of levels) counts[level] = (counts[level] ?? 0) + 1;
  return new Map(
    LEVEL_CHOICES.map((choice, at) => [choice, counts[choice === 'none' ? 0 : at + 1] ?? 0]),
  );
}

/**
 * The lines that are shown, in their order; undefined for all of them. In turns: a hundred thousand lines take longer than a frame.
 *
 * @param chosen no level: all of them
 * @param search as it was typed; the case of letters does not count
 */
export async function matchingLines(
  columns: ConsoleColumns,
  chosen: ReadonlySet<LevelChoice>,
  search: string,
  signal: AbortSignal,
): Promise<Uint32Array | undefined> {
  const wanted = search.trim().toLowerCase();
  if (wanted === '' && chosen.size === 0) return undefined;
  const count = columns.ends.length;
  const found = new Uint32Array(count);
  const turn = new TurnBreak();
  let matches = 0;
  for (let line = 0; line < count; line += 1) {
    if (line % LINES_PER_TURN === 0) {
      await turn.pause();
      if (signal.aborted) break;
    }
    if (chosen.size > 0 && !chosen.has(lineLevel(columns, line))) continue;
    if (wanted !== '' && !lineText(columns, line).toLowerCase().includes(wanted)) continue;
    found[matches] = line;
    matches += 1;
  }
  return found.slice(0, matches);
}
