/** A store on the other side of HTTP: what a page or a process opens with `http://host:port`. */
import { storeOf, type StoreDriver } from '../store/front.ts';
import { checkOptionNames } from '../base/assert.ts';
import { isQuarkError, isStoreError, SessionStoreError } from '../base/errors.ts';
import { checkAnsweredProject, checkAnsweredRun } from '../store/run-content.ts';
import { containsKey } from '../store/segment-rules.ts';
import type {
  DeletedRun,
  Lease,
  NewSegment,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  StoredBatches,
  TableBatches,
  TableEpoch,
  Store,
  StoredRun,
  StoreLocation,
  StreamState,
  ConnectedStore,
  ServedStore,
} from '../store/store.ts';
import { decodeCurves } from './curve-messages.ts';
import { decodeFrames } from './frames.ts';
import { HttpClient, notQuark, type HttpStorageOptions } from './http-client.ts';
import { deleteProjectThere, listDeletedThere } from './http-deletion.ts';
import { lapsedLeasesThere, listRunsThere } from './http-runs.ts';
import {
  API_PATH,
  BYTES_MEDIA_TYPE,
  MAX_KEY_CHARS_IN_URL,
  MAX_RUNS_PER_BATCH_QUERY,
  MAX_RUNS_PER_LEASE_QUERY,
  MAX_RUNS_PER_PURGE,
  MAX_SEGMENTS_PER_READ,
  UPLOAD_MEDIA_TYPE,
} from './protocol.ts';
import { decodeAnswer, decodeSparkline } from './table-messages.ts';
import { TableEpochs } from './table-epochs.ts';
import type { DocumentCalls } from '../store/documents.ts';
import { documentsThere, silenceThere, unsilenceThere } from './http-remarks.ts';
import { encodeUpload } from './upload.ts';
import {
  decodeDeletedRun,
  decodeLease,
  decodeManifest,
  decodeProject,
  decodeRun,
  decodeStream,
  decodeRevision,
  decodeTableBatches,
  decodeUpdate,
  type Fields,
} from './wire.ts';

export type { HttpStorageOptions } from './http-client.ts';

const OPTION_NAMES = ['userKey', 'space', 'timeoutMs', 'signal', 'fetch'] as const;

/**
 * Opens the store that a Quark server offers at `uri`. Whether it can be written to is the server's to say: `quark
 * serve` takes records of keys that may write, `quark dashboard` and `quark demo` let nobody write.
 *
 * A write that ends as `unreachable` may have reached the server all the same. Appending the same segments again is
 * always safe; before you add or change a run again, read what is stored.
 *
 * @throws {QuarkError} `invalid_input` when `uri` is not an http or https URL, or an option is wrong
 * @throws {SessionStoreError} `unreachable` when nobody answers in time, `unauthorised` when the server does not know
 *   the key, `rejected` when something else than a Quark server answers, `version` when the two have no version of the
 *   protocol in common
 */
export async function openHttpStorage(
  uri: string,
  options: HttpStorageOptions = {},
): Promise<Store> {
  checkOptionNames('options', options, OPTION_NAMES);
  const client = new HttpClient(uri, options);
  const about = await client.json('GET /');
  if (about.get('service') !== 'quark') throw notQuark(client.base.href);
  const arrived = about.get('space');
  if (arrived !== undefined && arrived !== (options.space ?? null))
    throw headerLost(client.base.href);
  return storeOf(new HttpStore(client, !about.flag('read_only'), options.space));
}

class HttpStore implements StoreDriver {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable: boolean;
  readonly #client: HttpClient;
  #asksThere = true;
  #drawsThere = true;
  readonly #epochs = new TableEpochs((runId) => this.#tryListStreams(runId));

  constructor(client: HttpClient, isWritable: boolean, space: string | undefined) {
    this.#client = client;
    this.isWritable = isWritable;
    const { href } = client.base;
    this.uri = href;
    this.location = {
      storageDir: space ?? href,
      storeRoot: href,
      dbPath: new URL(API_PATH, href).href,
    };
    const documents = documentsThere(client);
    this.putDocument = documents.putDocument;
    this.findDocument = documents.findDocument;
    this.listDocuments = documents.listDocuments;
    this.deleteDocument = documents.deleteDocument;
  }

  readonly ensureProject: Store['ensureProject'] = async (project) => {
    const { id, name, createdAtMs } = project;
    const message = { project: { id, name, createdAtMs } };
    const answer = await this.#client.json('POST /projects', { message });
    return checkAnsweredProject(decodeProject(answer.get('project')));
  };

  readonly listProjects: Store['listProjects'] = async () => {
    const answer = await this.#client.json('GET /projects');
    return answer.list('projects').map((one) => checkAnsweredProject(decodeProject(one)));
  };

  readonly createRun: Store['createRun'] = async (run) => {
    const answer = await this.#client.json('POST /runs', { message: { run } });
    const added = checkAnsweredRun(decodeRun(answer.get('run')), run.id);
    this.#epochs.created(added.id);
    return added;
  };

  readonly findRun: Store['findRun'] = async (runId) => {
    try {
      const answer = await this.#client.json('GET /runs/:runId', {
        params: { runId },
      });
      return checkAnsweredRun(decodeRun(answer.get('run')), runId);
    } catch (error) {
      if (isQuarkError(error, 'run_not_found')) return undefined;
      throw error;
    }
  };

  readonly listRuns: Store['listRuns'] = (filter = {}) =>
    listRunsThere(this.#client, filter, () => this.listLeases());

  readonly askRuns: NonNullable<Store['askRuns']> = async (question) => {
    if (!this.#asksThere) return undefined;
    try {
      const answer = await this.#client.json('POST /tables/runs', { message: { question } });
      return decodeAnswer(answer, question);
    } catch (error) {
      if (!isUnknownRoute(error)) throw error;
      this.#asksThere = false;
      return undefined;
    }
  };

  readonly updateRun: Store['updateRun'] = async (run) => {
    const params = { runId: run.id };
    const answer = await this.#client.json('PUT /runs/:runId', { params, message: { run } });
    const result = decodeUpdate(answer);
    checkAnsweredRun(result.run, run.id);
    return result;
  };

  readonly deleteRun: Store['deleteRun'] = async (runId, { by, keepMs } = {}) => {
    const answer = await this.#client.json('DELETE /runs/:runId', {
      params: { runId },
      query: { keepMs, by },
    });
    return decodeDeletedRun(answer.get('deleted'));
  };

  readonly deleteProject: NonNullable<Store['deleteProject']> = (name, options) =>
    deleteProjectThere(this.#client, name, options);

  readonly deleteTable: NonNullable<Store['deleteTable']> = async (runId, table) => {
    const params = { runId, table };
    const answer = await this.#client.json('DELETE /runs/:runId/tables/:table', { params });
    return { runId, table, rows: answer.number('rows') };
  };

  readonly deleteArtifact: NonNullable<Store['deleteArtifact']> = async (runId, idOrKey) => {
    const asked = { params: { runId }, query: { artifact: idOrKey } };
    const answer = await this.#client.json('DELETE /runs/:runId/artifacts', asked);
    return { runId, table: 'artifacts', rows: answer.number('rows') };
  };

  readonly putDocument: DocumentCalls['putDocument'];
  readonly findDocument: DocumentCalls['findDocument'];
  readonly listDocuments: DocumentCalls['listDocuments'];
  readonly deleteDocument: DocumentCalls['deleteDocument'];

  readonly silenceAlerts: NonNullable<Store['silenceAlerts']> = (runId, silence) =>
    silenceThere(this.#client, runId, silence);

  readonly unsilenceAlerts: NonNullable<Store['unsilenceAlerts']> = (runId, alerts) =>
    unsilenceThere(this.#client, runId, alerts);

  readonly archiveRun: Store['archiveRun'] = async (runId) =>
    this.#changed('POST /runs/:runId/archive', runId);

  readonly restoreRun: Store['restoreRun'] = async (runId) =>
    this.#changed('POST /runs/:runId/restore', runId);

  readonly findDeletedRun: Store['findDeletedRun'] = async (runId) => {
    try {
      const params = { runId };
      const answer = await this.#client.json('GET /deleted-runs/:runId', { params });
      return decodeDeletedRun(answer.get('deleted'));
    } catch (error) {
      // Of a service that is older than deletion, too: it has deleted nothing.
      if (isQuarkError(error, 'run_not_found') || isQuarkError(error, 'unsupported'))
        return undefined;
      throw error;
    }
  };

  readonly listDeletedRuns: Store['listDeletedRuns'] = () => listDeletedThere(this.#client);

  readonly purgeDeletedRuns: Store['purgeDeletedRuns'] = async (nowMs, force = []) => {
    const purged: DeletedRun[] = [];
    const parts = force.length === 0 ? [[]] : [...slices(force, MAX_RUNS_PER_PURGE)];
    for (const some of parts) {
      const message = { nowMs, force: some };
      const answer = await this.#client.json('POST /purge', { message });
      purged.push(...answer.list('deleted').map(decodeDeletedRun));
    }
    return purged;
  };

  readonly renewLease: Store['renewLease'] = async (runId, holder, ttlMs) => {
    const answer = await this.#client.json('PUT /runs/:runId/leases/:holder', {
      params: { runId, holder },
      message: { ttlMs },
    });
    return decodeLease(answer.get('lease'));
  };

  readonly releaseLease: Store['releaseLease'] = async (runId, holder) => {
    const params = { runId, holder };
    await this.#client.json('DELETE /runs/:runId/leases/:holder', { params });
  };

  readonly listLeases: Store['listLeases'] = async (runIds) => {
    if (runIds === undefined)
      return (await this.#client.json('GET /leases')).list('leases').map(decodeLease);
    const leases: Lease[] = [];
    for (const some of slices([...new Set(runIds)], MAX_RUNS_PER_LEASE_QUERY)) {
      const answer = await this.#client.json('GET /leases', { query: { run: some } });
      leases.push(...answer.list('leases').map(decodeLease));
    }
    return leases;
  };

  readonly lapsedLeases: ServedStore['lapsedLeases'] = (runId) =>
    lapsedLeasesThere(this.#client, runId);

  readonly appendSegments: Store['appendSegments'] = async (segments, seen, live) => {
    if (segments.length === 0) return [];
    const send = async (known = seen): Promise<readonly SegmentManifest[]> =>
      this.#acknowledged(
        await this.#client.json('POST /segments', {
          bytes: encodeUpload(segments, { seen: known, live }),
          type: UPLOAD_MEDIA_TYPE,
        }),
        segments.length,
      );
    return seen === undefined ? this.#epochs.use(tablesOf(segments), send) : send();
  };

  readonly listSegments: Store['listSegments'] = async (filter) => {
    const { runId, table, keys, sequenceMin, stepMin, stepMax, epochMin, epochMax } = filter;
    const position = { sequenceMin, stepMin, stepMax, epochMin, epochMax };
    const keysFit =
      keys !== undefined &&
      keys.length > 0 &&
      keys.join('').length + 5 * keys.length <= MAX_KEY_CHARS_IN_URL;
    const answer = await this.#client.json('GET /runs/:runId/tables/:table/segments', {
      params: { runId, table },
      query: {
        ...position,
        key: keysFit ? keys : undefined,
        superseded: filter.superseded === true ? 1 : undefined,
        empty: filter.empty === true ? 1 : undefined,
      },
    });
    const manifests = answer.list('segments').map(decodeManifest);
    if (keys === undefined || keysFit) return manifests;
    return manifests.filter((manifest) => containsKey(manifest.keys, keys));
  };

  readonly readSegments: Store['readSegments'] = async (segments) => {
    const reads: SegmentRead[] = [];
    while (reads.length < segments.length) {
      const asked = segments
        .slice(reads.length, reads.length + MAX_SEGMENTS_PER_READ)
        .map(referenceOf);
      const message = { segments: asked };
      const answer = await this.#client.bytes('POST /segments/read', { message });
      reads.push(...decodeFrames(answer, asked.length));
    }
    return reads;
  };

  readonly readCurves: ConnectedStore['readCurves'] = async (query) => {
    const { runId, metricKeys: key, namesOnly, ...rest } = query;
    const answer = await this.#client.json('GET /runs/:runId/curves', {
      params: { runId },
      query: { ...rest, names: namesOnly === true ? 1 : undefined, key },
    });
    return decodeCurves(answer);
  };

  readonly readSparklines: ConnectedStore['readSparklines'] = async (query) => {
    if (!this.#drawsThere) return undefined;
    try {
      const answer = await this.#client.json('POST /tables/curves', { message: { ...query } });
      return answer.list('curves').map(decodeSparkline);
    } catch (error) {
      if (!isUnknownRoute(error)) throw error;
      this.#drawsThere = false;
      return undefined;
    }
  };

  readonly replaceSegments: Store['replaceSegments'] = async (runId, table, remove, add) => {
    const answer = await this.#client.json('POST /runs/:runId/tables/:table/merge', {
      params: { runId, table },
      bytes: encodeUpload(add, { remove: remove.map(referenceOf) }),
      type: UPLOAD_MEDIA_TYPE,
    });
    return answer.flag('replaced');
  };

  readonly replaceTable: Store['replaceTable'] = async (runId, table, add, seenCount) => {
    const send = async (seen?: readonly TableEpoch[]): Promise<readonly SegmentManifest[]> => {
      const answer = await this.#client.json('PUT /runs/:runId/tables/:table', {
        params: { runId, table },
        bytes: encodeUpload(add, { seen }),
        type: UPLOAD_MEDIA_TYPE,
      });
      const stored = this.#acknowledged(answer, add.length);
      for (const one of seen ?? []) this.#epochs.emptied(one);
      return stored;
    };
    return seenCount === undefined
      ? this.#epochs.use([{ runId, table }], send, true)
      : send([{ runId, table, replaceCount: seenCount }]);
  };

  readonly listStreams: ServedStore['listStreams'] = async (runId) => {
    const params = { runId };
    const answer = await this.#client.json('GET /runs/:runId/tables', { params });
    return answer.list('tables').map(decodeStream);
  };

  readonly listBatches: ServedStore['listBatches'] = async (runIds) => {
    const runs: StoredBatches['runs'][number][] = [];
    const tables: TableBatches[] = [];
    const hidden: string[] = [];
    for (const some of slices([...new Set(runIds)], MAX_RUNS_PER_BATCH_QUERY)) {
      const answer = await this.#client.json('GET /batches', { query: { run: some } });
      runs.push(...answer.list('runs').map(decodeRevision));
      tables.push(...answer.list('tables').map(decodeTableBatches));
      if (answer.get('hidden') !== undefined) hidden.push(...answer.texts('hidden'));
    }
    return hidden.length === 0 ? { runs, tables } : { runs, tables, hidden };
  };

  readonly identity: ServedStore['identity'] = async () => this.#client.told?.identity;

  readonly nearQuotas: ConnectedStore['nearQuotas'] = async () => this.#client.nearQuotas;

  readonly isDurable: ServedStore['isDurable'] = async () => this.#client.told?.isDurable === true;

  readonly putBlob: Store['putBlob'] = async (sha256, bytes) => {
    const type = BYTES_MEDIA_TYPE;
    await this.#client.json('PUT /blobs/:sha256', { params: { sha256 }, bytes, type });
  };

  readonly getBlob: Store['getBlob'] = async (sha256) => {
    try {
      return await this.#client.bytes('GET /blobs/:sha256', { params: { sha256 } });
    } catch (error) {
      if (isQuarkError(error, 'unsupported')) return undefined;
      throw error;
    }
  };

  /** A store that is only read has nothing to give back. */
  readonly reclaimSpace: Store['reclaimSpace'] = async () => {
    if (this.isWritable) await this.#client.json('POST /reclaim', { message: {} });
  };

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Undefined where the service is too old to say. */
  async #tryListStreams(runId: string): Promise<readonly StreamState[] | undefined> {
    try {
      return await this.listStreams(runId);
    } catch (error) {
      if (isQuarkError(error, 'unsupported')) return undefined;
      throw error;
    }
  }

  checkOpen(): void {
    this.#client.checkOpen();
  }

  checkWritable(removes = false): void {
    // A key may delete and not write: the service knows.
    if (this.isWritable || removes) return;
    throw new SessionStoreError(
      'read_only',
      `The store at ${this.uri} can only be read. Record into a local store, or with a key that may write.`,
      { details: { uri: this.uri } },
    );
  }

  async #changed(
    route: 'POST /runs/:runId/archive' | 'POST /runs/:runId/restore',
    runId: string,
  ): Promise<StoredRun> {
    const answer = await this.#client.json(route, { params: { runId }, message: {} });
    return checkAnsweredRun(decodeRun(answer.get('run')), runId);
  }

  #acknowledged(answer: Fields, count: number): readonly SegmentManifest[] {
    const stored = answer.list('segments').map(decodeManifest);
    if (stored.length === count) return stored;
    throw new SessionStoreError(
      'rejected',
      `${this.uri} acknowledged ${stored.length} of ${count} segments. Is there something between it and this program that changes answers?`,
      { details: { uri: this.uri } },
    );
  }
}

/** Only the identity travels, whatever else the caller's object holds. */
function referenceOf(segment: SegmentReference): SegmentReference {
  const { runId, table, writerId, batchNumber, checksum } = segment;
  const identity = { runId, table, writerId, batchNumber };
  return checksum === undefined ? identity : { ...identity, checksum };
}

function tablesOf(segments: readonly NewSegment[]): readonly Pick<TableEpoch, 'runId' | 'table'>[] {
  const tables = new Map(
    segments.map(({ manifest: { runId, table } }) => [`${runId}/${table}`, { runId, table }]),
  );
  return [...tables.values()];
}

function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

function headerLost(uri: string): SessionStoreError {
  return new SessionStoreError(
    'rejected',
    `Something before the service at ${uri} takes the header "quark-space" away or changes it: records would get into another space. Let proxies pass headers that begin with "quark-".`,
    { details: { uri } },
  );
}

/** Whether a service is older than a question. One that only reads refuses every POST that it does not know. */
function isUnknownRoute(error: unknown): boolean {
  return isQuarkError(error, 'unsupported') || isStoreError(error, 'read_only');
}
