/**
 * A run out of a `.quark` file into a store, as it was: its record, its segments with their identities and sequence numbers. What the store
 * has already is told by identities, so an import that was cut off is gone on with, one that is repeated writes nothing, and a file of a
 * later day adds what is new.
 */
import { isQuarkError, messageOf, QuarkError } from '../../../base/errors.ts';
import type { JsonObject } from '../../../base/json.ts';
import { checkLabel } from '../../../base/names.ts';
import { runRecord, type RunRecord } from '../../../records/run.ts';
import { metricTable } from '../../../records/metric.ts';
import { storedForm } from '../../../session/run-lifecycle.ts';
import { TABLES } from '../../../records/tables.ts';
import { gatherRows } from '../../../segment/batch-ops.ts';
import { checkListedKeys, checkNames } from '../../../segment/check-names.ts';
import { SEQUENCE_COLUMN } from '../../../segment/encode.ts';
import { createSegment } from '../../../segment/manifest.ts';
import { openSegment } from '../../../segment/open-segment.ts';
import type { PartEntry } from '../../../codecs/quark/quark-file.ts';
import { batchesOf, coalesceRanges } from '../../../store/batch-ranges.ts';
import { checkNewSegments } from '../../../store/segment-rules.ts';
import type { BatchRange, SegmentManifest, Store, StoredRun } from '../../../store/store.ts';
import type { RestoredRun } from '../sink/importer.ts';
import { fieldOf, manifestIn, partLocationOf, type QuarkParts } from './quark-parts.ts';

/** Tables that are computed anew as a whole, under the same names. */
const FINDINGS = new Set(['alerts', 'health_scores', 'phases']);
/** Says in the environment of a run that not all of it is there yet. */
const MARK = 'partly_imported';
/** Bytes of segments that are appended together. */
const APPEND_BYTES = 16 << 20;

/** Where a run goes, and what is changed on the way. */
export type RestoreTarget = {
  readonly store: Store;
  readonly project: string | undefined;
  readonly tags: readonly string[];
  readonly problem: (location: string | null, reason: string) => void;
};

type Part = { readonly entry: PartEntry; readonly manifest: SegmentManifest };

export class QuarkRestore {
  readonly #parts: QuarkParts;
  readonly #target: RestoreTarget;
  readonly #run: RunRecord;
  readonly #project: { readonly id: string; readonly name: string; readonly createdAtMs: number };
  readonly #tables = new Map<string, Part[]>();
  #hadRun = false;
  /** Whether an import before left the run with a mark. */
  #wasCutOff = false;
  #isWanted = true;
  #wroteAny = false;
  #isWhole = true;
  #rowCount = 0;
  readonly #keys = new Set<string>();

  /** @throws {Error} when the part holds no run */
  constructor(meta: unknown, parts: QuarkParts, target: RestoreTarget) {
    this.#parts = parts;
    this.#target = target;
    const dict = fieldOf(meta, 'run');
    if (typeof dict !== 'object' || dict === null) throw new Error('There is no run record in it.');
    const run = runRecord.fromDict(dict as { readonly [key: string]: unknown });
    const project = fieldOf(meta, 'project');
    const createdAtMs = fieldOf(project, 'created_at_ms');
    const name = target.project ?? checkLabel('run.project_name', run.projectName);
    for (const tag of run.tags) checkLabel('run.tags', tag);
    this.#run = runRecord.create({
      ...run,
      projectName: name,
      tags: [...new Set([...run.tags, ...target.tags])],
    });
    this.#project = {
      id: run.projectId,
      name,
      createdAtMs: typeof createdAtMs === 'number' ? createdAtMs : Date.parse(run.startedAt),
    };
  }

  get runId(): string {
    return this.#run.id;
  }

  /** Makes the run, or finds it. */
  async begin(): Promise<void> {
    const { store } = this.#target;
    const found = await store.findRun(this.#run.id);
    this.#hadRun = found !== undefined;
    if (found !== undefined) {
      // What says the same was put there by the same file.
      const state = stateOf(found.document);
      this.#isWanted = state !== this.#run.updatedAt;
      this.#wasCutOff = state === undefined;
      return;
    }
    const project = await this.#ensureProject();
    // A reader that comes before all of it is there sees that it is not whole; the record as it was comes at the end.
    const opened = runRecord.create({ ...this.#marked(), status: 'interrupted' });
    await store.createRun({ ...this.#stored(opened, project.id), projectId: project.id });
    this.#wroteAny = true;
  }

  async blob(entry: PartEntry, meta: unknown): Promise<void> {
    const sha256 = fieldOf(meta, 'sha256');
    if (!this.#isWanted) return;
    const bytes = await this.#parts.body(entry);
    if (bytes === undefined) {
      this.#isWhole = false;
      return;
    }
    try {
      await this.#target.store.putBlob(String(sha256), bytes);
    } catch (error) {
      if (!isQuarkError(error, 'invalid_input')) throw error;
      this.#refuse(entry, messageOf(error));
    }
  }

  segment(entry: PartEntry, meta: unknown): void {
    const manifest = manifestIn(meta);
    if (manifest.runId !== this.#run.id) {
      this.#refuse(entry, `it is of run ${manifest.runId.slice(0, 128)}`);
      return;
    }
    if (manifest.sizeBytes !== entry.bodyBytes || !TABLES.has(manifest.table)) {
      this.#refuse(
        entry,
        `it is of table "${manifest.table.slice(0, 64)}", which this Quark cannot keep`,
      );
      return;
    }
    const parts = this.#tables.get(manifest.table);
    if (parts === undefined) this.#tables.set(manifest.table, [{ entry, manifest }]);
    else parts.push({ entry, manifest });
  }

  /** Writes what the store lacks. */
  async finish(): Promise<RestoredRun> {
    for (const [table, parts] of this.#tables) await this.#table(table, parts);
    if (!this.#parts.isWhole) this.#isWhole = false;
    await this.#complete();
    return {
      runId: this.#run.id,
      name: this.#run.id,
      project: this.#run.projectName,
      rowCount: this.#rowCount,
      metricKeys: [...this.#keys],
      isNew: this.#wroteAny,
      isComplete: this.#isWhole,
    };
  }

  async #table(table: string, parts: readonly Part[]): Promise<void> {
    const { store } = this.#target;
    const runId = this.#run.id;
    const live = await store.listSegments({ runId, table });
    const byName = new Map(live.map((manifest) => [nameOf(manifest), manifest]));
    const isOther = parts.some(({ manifest }) => {
      const kept = byName.get(nameOf(manifest));
      return kept !== undefined && kept.checksum !== manifest.checksum;
    });
    // Findings are computed anew, under the same names: what is newer counts.
    if (isOther && this.#isNewer && FINDINGS.has(table)) {
      await store.replaceTable(runId, table, []);
      return this.#append(table, parts, -1, true);
    }
    await this.#renumber(table, parts, byName);
    const covered = coalesceRanges(live.flatMap(batchesOf));
    const lastSequence = live.reduce((last, manifest) => Math.max(last, manifest.lastSequence), -1);
    // Segments of one merge stand for the same batches together. If one of them is there, they came from the same merge.
    const merges = new Set(
      parts
        .filter(({ manifest }) => byName.has(nameOf(manifest)))
        .map(({ manifest }) => mergeOf(manifest)),
    );
    const missing = parts.filter(({ manifest }) => {
      if (byName.has(nameOf(manifest))) return false;
      return (
        merges.has(mergeOf(manifest)) ||
        !batchesOf(manifest).every((range) => holds(covered, range))
      );
    });
    const isInside = ({ manifest }: Part): boolean =>
      !merges.has(mergeOf(manifest)) &&
      batchesOf(manifest).some((range) => touches(covered, range));
    const fresh = missing.filter((part) => !isInside(part));
    // The store has rows that the file has not: their numbers are taken.
    const isAhead =
      live.length > 0 &&
      fresh.some(
        ({ manifest }) => manifest.firstSequence <= lastSequence && !merges.has(mergeOf(manifest)),
      );
    await this.#append(table, missing.filter(isInside), lastSequence, false, covered);
    await this.#append(table, fresh, -1, !isAhead);
  }

  /** An import that was cut off between appending a segment and numbering it left it with another number. */
  async #renumber(
    table: string,
    parts: readonly Part[],
    byName: ReadonlyMap<string, SegmentManifest>,
  ): Promise<void> {
    if (!this.#wasCutOff) return;
    for (const { entry, manifest } of parts) {
      const kept = byName.get(nameOf(manifest));
      const { firstSequence, lastSequence, checksum } = manifest;
      if (kept === undefined || kept.checksum !== checksum) continue;
      if (kept.firstSequence === firstSequence && kept.lastSequence === lastSequence) continue;
      const bytes = await this.#parts.body(entry);
      if (bytes === undefined) continue;
      await this.#target.store.replaceSegments(this.#run.id, table, [kept], [{ manifest, bytes }]);
      this.#wroteAny = true;
    }
  }

  /**
   * @param after rows up to this sequence number are in the store
   * @param keepsNumbers whether sequence numbers are those of the file
   * @param covered batches that are in the store, of segments of which only a part is missing
   */
  async #append(
    table: string,
    parts: readonly Part[],
    after: number,
    keepsNumbers: boolean,
    covered?: readonly BatchRange[],
  ): Promise<void> {
    const { store } = this.#target;
    let waiting: { manifest: SegmentManifest; bytes: Uint8Array<ArrayBuffer> }[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (waiting.length === 0) return;
      const placed = await store.appendSegments(waiting);
      this.#wroteAny = true;
      for (const [i, { manifest, bytes: content }] of waiting.entries()) {
        if (table === 'metrics') this.#rowCount += manifest.rowCount;
        const kept = placed[i];
        const isInOrder =
          kept?.firstSequence === manifest.firstSequence &&
          kept.lastSequence === manifest.lastSequence;
        if (keepsNumbers && kept !== undefined && !isInOrder)
          await store.replaceSegments(this.#run.id, table, [kept], [{ manifest, bytes: content }]);
      }
      waiting = [];
      bytes = 0;
    };
    for (const { entry, manifest } of parts) {
      const found = await this.#open(entry, manifest, after, keepsNumbers, covered);
      if (found === undefined) continue;
      if (bytes + found.bytes.length > APPEND_BYTES) await flush();
      waiting.push(found);
      bytes += found.bytes.length;
    }
    await flush();
  }

  /** A segment that can be read, as it was or with the rows that are missing. */
  async #open(
    entry: PartEntry,
    manifest: SegmentManifest,
    after: number,
    keepsNumbers: boolean,
    covered: readonly BatchRange[] | undefined,
  ): Promise<{ manifest: SegmentManifest; bytes: Uint8Array<ArrayBuffer> } | undefined> {
    const table = TABLES.get(manifest.table);
    const bytes = await this.#parts.body(entry);
    if (bytes === undefined || table === undefined) {
      this.#isWhole = false;
      return undefined;
    }
    try {
      const opened = await openSegment(table, manifest, { kind: 'bytes', bytes });
      if (opened.kind !== 'opened')
        throw new Error(opened.kind === 'damaged' ? opened.report.reason : opened.kind);
      const { batch, sequences } = opened.segment;
      checkListedKeys(table, manifest.keys);
      checkNames(table, batch);
      const keys = batch.columns.get('metric_key');
      // A manifest lists only so many keys.
      if (table === metricTable && keys?.kind === 'key')
        for (const key of manifest.keys ?? keys.dictionary) this.#keys.add(key);
      const isMerged = batch.columns.has(SEQUENCE_COLUMN);
      if (keepsNumbers || (after < 0 && !isMerged)) {
        checkNewSegments([{ manifest, bytes }]);
        return { manifest, bytes };
      }
      // Rows whose numbers cannot be kept become rows as written: the store numbers them.
      const rows = Int32Array.from(
        Array.from({ length: batch.rowCount }, (_, row) => row).filter(
          (row) => (sequences[row] ?? 0) > after,
        ),
      );
      if (rows.length === 0) return undefined;
      const rest = gatherRows(batch, rows);
      const columns = new Map(rest.columns);
      columns.delete(SEQUENCE_COLUMN);
      const segment = createSegment(table, manifest, { rowCount: rest.rowCount, columns });
      const sources = batchesOf(manifest).flatMap((range) => uncovered(covered ?? [], range));
      return {
        manifest: { ...segment.manifest, sources, firstSequence: 0, lastSequence: 0 },
        bytes: segment.bytes,
      };
    } catch (error) {
      if (error instanceof QuarkError && error.code === 'store_failed') throw error;
      this.#refuse(entry, messageOf(error));
      return undefined;
    }
  }

  /** The record as it was, unless that of the store is newer; with a mark where not all is there. */
  async #complete(): Promise<void> {
    const { store } = this.#target;
    const run = this.#isWhole ? this.#run : this.#marked();
    for (;;) {
      const found = await store.findRun(run.id);
      if (found === undefined || !isOlder(found.document, run)) return;
      const next = this.#stored(run, found.projectId);
      if (!this.#isWhole && next.document === found.document) return;
      const project = await this.#ensureProject();
      const result = await store.updateRun({
        ...this.#stored(run, project.id),
        revision: found.revision,
      });
      if (result.kind === 'conflict') continue;
      this.#wroteAny = true;
      return;
    }
  }

  #marked(): RunRecord {
    const environment = { ...this.#run.environment, [MARK]: true };
    return runRecord.create({ ...this.#run, environment });
  }

  get #isNewer(): boolean {
    return this.#hadRun && this.#isWanted;
  }

  #ensureProject(): Promise<{ readonly id: string }> {
    const { store } = this.#target;
    return store.ensureProject(this.#project).catch(async (error: unknown) => {
      const isTaken = isQuarkError(error, 'store_failed') && error.details['reason'] === 'rejected';
      if (!isTaken) throw error;
      // Another project has the id: this one gets one that follows from its name.
      return store.ensureProject({
        ...this.#project,
        id: `${this.#project.id}-${this.#run.id}`.slice(0, 128),
      });
    });
  }

  #stored(run: RunRecord, projectId: string): Omit<StoredRun, 'revision'> {
    const { store } = this.#target;
    const runPath = `${store.location.storeRoot}/runs/${run.id}`;
    const placed = runRecord.create({ ...run, projectId, runPath });
    return storedForm(placed);
  }

  #refuse(entry: PartEntry, reason: string): void {
    this.#isWhole = false;
    this.#target.problem(partLocationOf(entry), `It is left out: ${reason}.`);
  }
}

/** When a record was last changed; undefined for one that an import has not completed. */
function stateOf(document: string): string | undefined {
  const dict = parsed(document);
  const environment = fieldOf(dict, 'environment') as JsonObject | undefined;
  if (fieldOf(environment, MARK) === true) return undefined;
  const updatedAt = fieldOf(dict, 'updated_at');
  return typeof updatedAt === 'string' ? updatedAt : undefined;
}

function isOlder(document: string, run: RunRecord): boolean {
  const state = stateOf(document);
  return state === undefined || Date.parse(state) < Date.parse(run.updatedAt);
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch {
    return undefined;
  }
}

function nameOf({ writerId, batchNumber }: SegmentManifest): string {
  return `${writerId}/${batchNumber}`;
}

/** Segments of one merge have the same sources; any other is alone. */
function mergeOf(manifest: SegmentManifest): string {
  return manifest.sources.length === 0 ? nameOf(manifest) : JSON.stringify(manifest.sources);
}

function holds(covered: readonly BatchRange[], range: BatchRange): boolean {
  return uncovered(covered, range).length === 0;
}

function touches(covered: readonly BatchRange[], range: BatchRange): boolean {
  return covered.some(
    (other) =>
      other.writerId === range.writerId &&
      other.batchStart <= range.batchLast &&
      other.batchLast >= range.batchStart,
  );
}

/** What of a range is in none of the others. */
function uncovered(covered: readonly BatchRange[], range: BatchRange): BatchRange[] {
  let rest: BatchRange[] = [range];
  for (const other of covered) {
    if (other.writerId !== range.writerId) continue;
    rest = rest.flatMap((part) => {
      if (other.batchLast < part.batchStart || other.batchStart > part.batchLast) return [part];
      return [
        { ...part, batchLast: other.batchStart - 1 },
        { ...part, batchStart: other.batchLast + 1 },
      ].filter(({ batchStart, batchLast }) => batchStart <= batchLast);
    });
  }
  return rest;
}
