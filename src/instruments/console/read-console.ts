/** What a program printed, read back: of a run that has ended, or goes on. */
import { invalidInput, isStoreError } from '../../base/errors.ts';
import { asGiven, asGivenOr, numberWhere, positive, readOptions } from '../../base/options.ts';
import { readArtifacts } from '../../read/artifacts.ts';
import type { ArtifactRecord } from '../../records/artifact.ts';
import { loadArtifact, type ArtifactSource } from '../artifacts/load-artifact.ts';
import { CHUNK_TYPE, chunkFromMetadata, type ChunkMetadata } from './chunk-metadata.ts';
import {
  CONSOLE_LEVELS,
  CONSOLE_SOURCES,
  unpackLines,
  type ConsoleLevel,
  type ConsoleLine,
  type ConsoleSource,
} from './console-line.ts';

/** Which lines to read. All conditions are joined by "and". */
export type ConsoleFilter = {
  /** The latest lines, so many; default 10,000. */
  readonly limit?: number | undefined;
  /** Any of these levels. Lines that were written without `console` have none, and match no level. */
  readonly levels?: readonly ConsoleLevel[] | undefined;
  /** Any of these sources. */
  readonly sources?: readonly ConsoleSource[] | undefined;
  /** Only lines of this instant or later, in UTC epoch milliseconds. Default: all. What was stored before is not read. */
  readonly fromMs?: number | undefined;
  /** Only lines that were stored after a read: its `position`. */
  readonly after?: ConsolePosition | undefined;
};

/** Up to where a console was read: for each capture of the run the number of the line that follows. Plain JSON. */
export type ConsolePosition = Readonly<Record<string, number>>;

/** Lines of a console. */
export type ConsoleRead = {
  /** In the order of their times. */
  readonly lines: readonly ConsoleLine[];
  /** Lines of the run that were dropped, because the program printed faster than could be stored. */
  readonly droppedLines: number;
  /** All lines that the run has stored. */
  readonly storedLines: number;
  /** What could not be read, as sentences. */
  readonly problems: readonly string[];
  /** Where the next read begins that is to have only new lines: its `after`. */
  readonly position: ConsolePosition;
};

/**
 * What the program of a run printed.
 *
 * @param run what `openRun(store, runId)` returns, or a store and the id of a run
 * @throws {QuarkError} `invalid_input` naming the run or the filter
 * @throws {SessionStoreError} when the store cannot be read
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { captureConsole, readConsole } from 'quark-sdk/console';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   captureConsole(session);
 *   console.log('loaded 60000 images');
 *   console.error('a file is missing');
 *   return session.runId;
 * });
 * const { droppedLines, lines } = await readConsole(await openRun(store, runId), { levels: ['error'] });
 * console.log(lines.map(({ text }) => text), droppedLines); // [ 'a file is missing' ] 0
 * ```
 */
export async function readConsole(
  run: ArtifactSource,
  filter: ConsoleFilter = {},
): Promise<ConsoleRead> {
  const { after, fromMs, levels, limit, sources } = readOptions('filter', filter, {
    limit: positive(10_000),
    fromMs: numberWhere((value) => !Number.isNaN(value), 'an instant', -Infinity),
    after: asGivenOr<ConsolePosition>({}),
    levels: asGiven,
    sources: asGiven,
  });
  checkPosition(after);
  checkList('filter.levels', levels, CONSOLE_LEVELS);
  checkList('filter.sources', sources, CONSOLE_SOURCES);
  const { damage, records } = await readArtifacts(run, { artifactType: CHUNK_TYPE });
  const problems = damage.map(
    ({ identity }) => `Artifacts of segment ${identity.batchNumber} are damaged.`,
  );
  // Chunks of one flush are stored at once, in any order.
  const chunks = withoutRepeated(
    records.flatMap((record) => describedChunk(record, problems)),
  ).toSorted(
    ({ chunk: a }, { chunk: b }) => a.firstTimeMs - b.firstTimeMs || a.firstLine - b.firstLine,
  );
  const parts: ConsoleLine[][] = [];
  let found = 0;
  let earliest = Infinity;
  for (const { chunk, record } of chunks.toReversed()) {
    // Captures at once: a chunk that was stored before may have lines that are later than some that were read.
    if ((found >= limit && chunk.lastTimeMs < earliest) || chunk.lastTimeMs < fromMs) continue;
    const known = Math.max(0, (after[chunk.captureId] ?? 0) - chunk.firstLine);
    if (known >= chunk.lineCount) continue;
    const lines = (await linesOf(run, record, problems)).slice(known);
    const matching = lines.filter(
      ({ level, source, timeMs }) =>
        timeMs >= fromMs &&
        (levels === undefined || (level !== null && levels.includes(level))) &&
        (sources === undefined || sources.includes(source)),
    );
    parts.push(matching);
    found += matching.length;
    earliest = Math.min(earliest, matching[0]?.timeMs ?? Infinity);
  }
  const lines = parts
    .toReversed()
    .flat()
    .toSorted((a, b) => a.timeMs - b.timeMs);
  const total = (of: (chunk: ChunkMetadata) => number): number =>
    chunks.reduce((sum, { chunk }) => sum + of(chunk), 0);
  return {
    lines: lines.slice(Math.max(0, lines.length - limit)),
    droppedLines: total(({ droppedLines }) => droppedLines),
    storedLines: total(({ lineCount }) => lineCount),
    problems,
    position: positionOf(after, chunks),
  };
}

function positionOf(after: ConsolePosition, chunks: readonly DescribedChunk[]): ConsolePosition {
  const ends = new Map(Object.entries(after));
  for (const { chunk } of chunks) {
    const { captureId, firstLine, lineCount } = chunk;
    ends.set(captureId, Math.max(ends.get(captureId) ?? 0, firstLine + lineCount));
  }
  return Object.fromEntries(ends);
}

type DescribedChunk = { readonly chunk: ChunkMetadata; readonly record: ArtifactRecord };

/** A process that ended while a chunk was being stored may have stored its lines twice. */
function withoutRepeated(chunks: readonly DescribedChunk[]): DescribedChunk[] {
  const ends = new Map<string, number>();
  const inOrder = chunks.toSorted(
    ({ chunk: a }, { chunk: b }) => a.firstLine - b.firstLine || b.lineCount - a.lineCount,
  );
  return inOrder.filter(({ chunk: { captureId, firstLine, lineCount } }) => {
    const end = firstLine + lineCount;
    if (end <= (ends.get(captureId) ?? 0)) return false;
    ends.set(captureId, end);
    return true;
  });
}

function describedChunk(record: ArtifactRecord, problems: string[]): DescribedChunk[] {
  try {
    return [{ chunk: chunkFromMetadata(record.metadata), record }];
  } catch (error) {
    if (!isStoreError(error)) throw error;
    problems.push(error.message);
    return [];
  }
}

/** The lines of a chunk; none, and a problem, where it is damaged or gone. */
async function linesOf(
  run: ArtifactSource,
  record: ArtifactRecord,
  problems: string[],
): Promise<readonly ConsoleLine[]> {
  try {
    const payload = await loadArtifact(run, record);
    if (payload instanceof Uint8Array) return await unpackLines(payload);
    problems.push(`Artifact ${record.id} is no chunk of a console.`);
  } catch (error) {
    if (!isStoreError(error, 'corrupt') && !isStoreError(error, 'missing')) throw error;
    problems.push(error.message);
  }
  return [];
}

function checkList<T extends string>(
  field: string,
  value: readonly T[] | undefined,
  known: readonly T[],
): void {
  if (value === undefined) return;
  if (!Array.isArray(value) || !value.every((one) => known.includes(one)))
    throw invalidInput(field, value, `a list of ${known.map((one) => `"${one}"`).join(', ')}`);
}

function checkPosition(after: ConsolePosition): void {
  const given: unknown = after;
  const isPosition =
    typeof given === 'object' &&
    given !== null &&
    Object.values(given).every((line) => Number.isSafeInteger(line));
  if (!isPosition) throw invalidInput('filter.after', given, 'the position of an earlier read');
}
