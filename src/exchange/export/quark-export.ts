/** One file with everything of a run, or of several, as their store has it. */
import { inSpanOf } from '../../base/profiling.ts';
import { ProfileStep } from '../../base/profile-steps.ts';
import { checkLiteral, checkNotAborted, checkOptionNames } from '../../base/assert.ts';
import { invalidInput, isQuarkError, SessionStoreError } from '../../base/errors.ts';
import { readArtifacts } from '../../read/artifacts.ts';
import type { RunReader } from '../../read/run-reader.ts';
import type { RunRecord } from '../../records/run.ts';
import { segmentChecksum } from '../../segment/checksum.ts';
import { groupSegments } from '../../segment/group-segments.ts';
import { describeDamage } from '../../segment/open-segment.ts';
import {
  fileEnd,
  fileHeader,
  partHead,
  type PartEntry,
  type PartKind,
} from '../../codecs/quark/quark-file.ts';
import { manifestShape, segmentName } from '../../records/shapes/manifest.ts';
import { shapeToJson } from '../../schema/shape.ts';
import { type StoredProject } from '../../store/store.ts';
import { documentParts, EXPORTED_DOCUMENTS, type ExportedDocuments } from './quark-documents.ts';
import { TABLE_NAMES } from './table-names.ts';

/** Segments that are read together. */
const GROUP_BYTES = 16 << 20;
const GROUP_SEGMENTS = 256;

/** Options of {@link exportQuark}. */
export type ExportQuarkOptions = {
  /** Ends the export: it rejects with code `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Documents of the projects of the runs, saved views and reports: those that all readers see (`project`), the private ones of the user who
   * exports as well (`all`), or `none`. Default `project`.
   */
  readonly documents?: ExportedDocuments | undefined;
  /** Told what cannot be read and is missing in the file, as a sentence. */
  readonly onProblem?: ((reason: string) => void) | undefined;
  /** Told how many bytes were written since the last call. */
  readonly onBytes?: ((byteCount: number) => void) | undefined;
};

/**
 * Runs as one `.quark` file, in chunks: run records with configuration, environment and tags, the segments of all tables as they are
 * stored, the bytes of artifacts, and the documents of their projects, each with its checksum. {@link importRuns} puts them into any store as they were, with their ids; what
 * is there already is not written again. Equal runs make equal files. Memory holds about 16 MiB, or the largest part.
 *
 * @param runs the run, or the runs, in the order in which they are to be written
 * @yields bytes of the file, in order
 * @throws {QuarkError} `invalid_input`; `aborted`
 * @throws {SessionStoreError} `busy` when the run was merged while it was read: export again
 * @example
 * ```js
 * import { writeFile } from 'node:fs/promises';
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { exportQuark } from 'quark-sdk/exchange';
 * import { openInputFiles } from 'quark-sdk/node';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * await writeFile('digits.quark', exportQuark(reader));
 * const [{ path, sizeBytes }] = await openInputFiles(['digits.quark']);
 * console.log(path, sizeBytes > 0); // digits.quark true
 * ```
 */
export function exportQuark(
  runs: RunReader | readonly RunReader[],
  options: ExportQuarkOptions = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  return inSpanOf(ProfileStep.EXPORT, quarkChunks(runs, options));
}

async function* quarkChunks(
  runs: RunReader | readonly RunReader[],
  options: ExportQuarkOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  checkOptionNames('options', options, ['documents', 'signal', 'onProblem', 'onBytes']);
  const { documents = 'project', onProblem } = options;
  checkLiteral('options.documents', documents, EXPORTED_DOCUMENTS);
  const readers: readonly RunReader[] = isReader(runs) ? [runs] : runs;
  if (!Array.isArray(readers) || !readers.every(isReader))
    throw invalidInput('runs', runs, 'a RunReader, or a list of them: see openRun()');
  const file = new FileWriter(options);
  yield file.count(fileHeader());
  for (const reader of readers) yield* writeRun(file, reader, options);
  const written = new Set<string>();
  for (const { run, store } of readers) {
    const project = JSON.stringify([store.uri, run.projectName]);
    if (written.has(project)) continue;
    written.add(project);
    for await (const { body, meta } of documentParts(store, run.projectName, documents, onProblem))
      yield* file.part('blob', meta, body);
  }
  yield file.count(fileEnd(file.entries, file.offset));
}

function isReader(value: unknown): value is RunReader {
  return typeof value === 'object' && value !== null && 'run' in value && 'store' in value;
}

class FileWriter {
  readonly entries: PartEntry[] = [];
  readonly #options: ExportQuarkOptions;
  offset = 0;

  constructor(options: ExportQuarkOptions) {
    this.#options = options;
  }

  count(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    this.offset += bytes.length;
    this.#options.onBytes?.(bytes.length);
    return bytes;
  }

  *part(
    kind: PartKind,
    meta: object,
    body: Uint8Array<ArrayBuffer>,
  ): Generator<Uint8Array<ArrayBuffer>> {
    const { bytes, entry } = partHead(kind, this.offset, meta, body);
    this.entries.push(entry);
    yield this.count(bytes);
    if (body.length > 0) yield this.count(body);
  }
}

async function* writeRun(
  file: FileWriter,
  reader: RunReader,
  { signal, onProblem }: ExportQuarkOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { run, store } = reader;
  const projects = await store.listProjects();
  const project = projects.find(({ id }) => id === run.projectId);
  yield* file.part('run', runMeta(run, project), new Uint8Array(0));
  const { records, damage } = await readArtifacts({ store, runId: run.id });
  for (const report of damage) onProblem?.(describeDamage(report));
  const hashes = new Set(records.flatMap(({ sha256, partSha256 }) => partSha256 ?? [sha256]));
  for (const sha256 of hashes) {
    checkNotAborted(signal);
    const bytes = await store.getBlob(sha256).catch((error: unknown) => {
      const isCorrupt =
        isQuarkError(error, 'store_failed') && error.details['reason'] === 'corrupt';
      // An older Quark took records whose hashes are none.
      if (isCorrupt || isQuarkError(error, 'invalid_input')) return undefined;
      throw error;
    });
    if (bytes === undefined) onProblem?.(`Blob ${sha256} of an artifact is missing or damaged.`);
    else yield* file.part('blob', { sha256 }, bytes);
  }
  for (const table of TABLE_NAMES) {
    const manifests = await store.listSegments({ runId: run.id, table });
    const bounds = { segments: GROUP_SEGMENTS, bytes: GROUP_BYTES };
    for (const group of groupSegments(manifests, bounds)) {
      checkNotAborted(signal);
      const reads = await store.readSegments(group);
      for (const [i, manifest] of group.entries()) {
        const read = reads[i] ?? { kind: 'gone' };
        if (read.kind === 'gone') throw merged(run.id);
        const reason =
          read.kind === 'damaged'
            ? read.reason
            : segmentChecksum(manifest, read.bytes) === manifest.checksum
              ? undefined
              : 'its checksum does not match';
        if (read.kind === 'bytes' && reason === undefined)
          yield* file.part('segment', shapeToJson(manifestShape, manifest), read.bytes);
        else onProblem?.(`Segment ${segmentName(manifest)} cannot be read: ${reason ?? ''}.`);
      }
    }
  }
}

/** What a store adds of its own (paths, revisions) stays with it: the same run makes the same file wherever it was. */
function runMeta(run: RunRecord, project: StoredProject | undefined): object {
  return {
    run: { ...run.toDict(), run_path: `runs/${run.id}` },
    project: {
      id: run.projectId,
      name: run.projectName,
      created_at_ms: project?.createdAtMs ?? Date.parse(run.startedAt),
    },
  };
}

function merged(runId: string): SessionStoreError {
  return new SessionStoreError(
    'busy',
    `The segments of run ${runId} were merged while they were read. Export the run again.`,
    { details: { runId } },
  );
}
