/** A store on the other side of HTTP, for reading: what a page or a process opens with `http://host:port`. */
import { checkNotAborted, checkOptionNames, checkPositive } from '../base/assert.ts';
import { invalidInput, isQuarkError, QuarkError, SessionStoreError } from '../base/errors.ts';
import { checkSha256 } from '../store/blob-rules.ts';
import { checkRunFilter, checkRunId } from '../store/run-rules.ts';
import { checkReference, checkSegmentFilter, holdsKey } from '../store/segment-rules.ts';
import type {
  Lease,
  RunFilter,
  SegmentFilter,
  SegmentManifest,
  SegmentRead,
  SegmentReference,
  Store,
  StoredProject,
  StoredRun,
  StoreLocation,
} from '../store/store.ts';
import { decodeFrames } from './frames.ts';
import {
  API_PATH,
  DEFAULT_TIMEOUT_MS,
  MAX_ANSWER_BYTES,
  MAX_KEY_CHARS_IN_URL,
  MAX_RUNS_PER_LEASE_QUERY,
  MAX_RUNS_PER_PAGE,
  MAX_SEGMENTS_PER_READ,
  PROTOCOL_HEADER,
  PROTOCOL_VERSION,
} from './protocol.ts';
import {
  decodeError,
  decodeLease,
  decodeManifest,
  decodeProject,
  decodeRun,
  Fields,
  toWire,
} from './wire.ts';

/** Options of {@link openHttpStorage}. */
export type HttpStorageOptions = {
  /** How long to wait for one answer, in milliseconds; 15,000 unless given. */
  readonly timeoutMs?: number;
  /** Ends every request of this store, now and later. */
  readonly signal?: AbortSignal;
  /** Sends the requests; the platform's `fetch` unless given. */
  readonly fetch?: (request: Request) => Promise<Response>;
};

const OPTION_NAMES = ['timeoutMs', 'signal', 'fetch'] as const;

/**
 * Opens the store that a Quark server (`quark dashboard`, `quark demo`) offers at `uri`, for reading only.
 *
 * @throws {QuarkError} `invalid_input` when `uri` is not an http or https URL
 * @throws {SessionStoreError} `unreachable` when nobody answers in time, `rejected` when something else than a Quark
 *   server does, `version` when it speaks another version of the protocol
 */
export async function openHttpStorage(
  uri: string,
  options: HttpStorageOptions = {},
): Promise<Store> {
  checkOptionNames('options', options, OPTION_NAMES);
  const store = new HttpStore(baseOf(uri), options);
  await store.checkServer();
  return store;
}

class HttpStore implements Store {
  readonly uri: string;
  readonly location: StoreLocation;
  readonly isWritable: boolean = false;
  readonly #base: URL;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #closing: AbortController = new AbortController();

  constructor(base: URL, options: HttpStorageOptions) {
    this.#base = base;
    this.#timeoutMs = checkPositive('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    this.#signal = options.signal;
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    this.uri = base.href;
    this.location = {
      storageDir: base.href,
      storeRoot: base.href,
      dbPath: new URL(API_PATH, base).href,
    };
  }

  /** Asks who is there. */
  async checkServer(): Promise<void> {
    const about = await this.#json('', []);
    if (about.get('service') !== 'quark') {
      throw new SessionStoreError(
        'rejected',
        `What answers at ${this.uri} is not a Quark server.`,
        { details: { uri: this.uri } },
      );
    }
  }

  async listProjects(): Promise<readonly StoredProject[]> {
    return (await this.#json('/projects', [])).list('projects').map(decodeProject);
  }

  async findRun(runId: string): Promise<StoredRun | undefined> {
    this.#checkOpen();
    checkRunId(runId);
    try {
      return decodeRun((await this.#json(`/runs/${encodeURIComponent(runId)}`, [])).get('run'));
    } catch (error) {
      if (isQuarkError(error, 'run_not_found')) return undefined;
      throw error;
    }
  }

  /** Page by page: the server bounds the runs of one answer. */
  async listRuns(filter: RunFilter = {}): Promise<readonly StoredRun[]> {
    this.#checkOpen();
    checkRunFilter(filter);
    const found = new Map<string, StoredRun>();
    const limit = filter.limit ?? Number.POSITIVE_INFINITY;
    for (let offset = filter.offset ?? 0; found.size < limit;) {
      const pageSize = Math.min(MAX_RUNS_PER_PAGE, limit - found.size);
      const query: [string, string][] = [['limit', String(pageSize)]];
      if (offset > 0) query.push(['offset', String(offset)]);
      if (filter.projectName !== undefined) query.push(['project', filter.projectName]);
      // An empty list of statuses matches no run; a URL cannot say "an empty list".
      if (filter.statuses?.length === 0) return [];
      for (const status of filter.statuses ?? []) query.push(['status', status]);
      for (const tag of filter.tags ?? []) query.push(['tag', tag]);
      const page = (await this.#json('/runs', query)).list('runs').map(decodeRun);
      for (const run of page) found.set(run.id, run);
      if (page.length < pageSize) break;
      offset += page.length;
    }
    return [...found.values()];
  }

  async listLeases(runIds?: readonly string[]): Promise<readonly Lease[]> {
    if (runIds === undefined)
      return (await this.#json('/leases', [])).list('leases').map(decodeLease);
    const leases: Lease[] = [];
    for (const some of slices([...new Set(runIds)], MAX_RUNS_PER_LEASE_QUERY)) {
      const answer = await this.#json(
        '/leases',
        some.map((runId): [string, string] => ['run', runId]),
      );
      leases.push(...answer.list('leases').map(decodeLease));
    }
    return leases;
  }

  async listSegments(filter: SegmentFilter): Promise<readonly SegmentManifest[]> {
    this.#checkOpen();
    checkSegmentFilter(filter);
    const query: [string, string][] = [];
    for (const [name, value] of [
      ['sequence_min', filter.sequenceMin],
      ['step_min', filter.stepMin],
      ['step_max', filter.stepMax],
      ['epoch_min', filter.epochMin],
      ['epoch_max', filter.epochMax],
    ] as const) {
      if (value !== undefined) query.push([name, String(value)]);
    }
    const keys = filter.keys;
    const keysFit =
      keys !== undefined &&
      keys.length > 0 &&
      keys.join('').length + 5 * keys.length <= MAX_KEY_CHARS_IN_URL;
    if (keysFit) for (const key of keys) query.push(['key', key]);
    const path = `/runs/${encodeURIComponent(filter.runId)}/tables/${encodeURIComponent(filter.table)}/segments`;
    const manifests = (await this.#json(path, query)).list('segments').map(decodeManifest);
    if (keys === undefined || keysFit) return manifests;
    return manifests.filter((manifest) => holdsKey(manifest.keys, keys));
  }

  async readSegments(segments: readonly SegmentReference[]): Promise<readonly SegmentRead[]> {
    this.#checkOpen();
    segments.forEach(checkReference);
    const reads: SegmentRead[] = [];
    while (reads.length < segments.length) {
      const asked = segments
        .slice(reads.length, reads.length + MAX_SEGMENTS_PER_READ)
        .map(referenceOf);
      const body = JSON.stringify(toWire({ segments: asked }));
      const response = await this.#ask('/segments/read', [], body);
      reads.push(...decodeFrames(response, asked.length));
    }
    return reads;
  }

  async getBlob(sha256: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    this.#checkOpen();
    checkSha256(sha256);
    try {
      return await this.#ask(`/blobs/${sha256}`, []);
    } catch (error) {
      if (isQuarkError(error, 'unsupported')) return undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  async reclaimSpace(): Promise<void> {
    this.#checkOpen();
  }

  ensureProject(): Promise<never> {
    return this.#refuse();
  }
  createRun(): Promise<never> {
    return this.#refuse();
  }
  updateRun(): Promise<never> {
    return this.#refuse();
  }
  renewLease(): Promise<never> {
    return this.#refuse();
  }
  releaseLease(): Promise<never> {
    return this.#refuse();
  }
  appendSegments(): Promise<never> {
    return this.#refuse();
  }
  replaceSegments(): Promise<never> {
    return this.#refuse();
  }
  replaceTable(): Promise<never> {
    return this.#refuse();
  }
  putBlob(): Promise<never> {
    return this.#refuse();
  }

  async #refuse(): Promise<never> {
    this.#checkOpen();
    throw new SessionStoreError(
      'read_only',
      `The store at ${this.uri} can only be read. Record into a local store.`,
      {
        details: { uri: this.uri },
      },
    );
  }

  async #json(path: string, query: readonly (readonly [string, string])[]): Promise<Fields> {
    return new Fields('answer', parseJson(await this.#ask(path, query), this.uri));
  }

  async #ask(
    path: string,
    query: readonly (readonly [string, string])[],
    body?: string,
  ): Promise<Uint8Array<ArrayBuffer>> {
    this.#checkOpen();
    checkNotAborted(this.#signal);
    const url = new URL(API_PATH + path, this.#base);
    for (const [name, value] of query) url.searchParams.append(name, value);
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const signals = [
      timeout,
      this.#closing.signal,
      ...(this.#signal === undefined ? [] : [this.#signal]),
    ];
    const request = new Request(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any(signals),
    });
    try {
      const response = await this.#fetch(request);
      const bytes = await boundedBytes(response, this.uri);
      if (!response.ok) throw decodeError(response.status, tryJson(bytes), this.uri);
      this.#checkVersion(response);
      return bytes;
    } catch (error) {
      if (isQuarkError(error)) throw error;
      this.#checkOpen();
      checkNotAborted(this.#signal);
      throw new SessionStoreError('unreachable', this.#unreachableMessage(timeout.aborted), {
        details: { uri: this.uri, timeoutMs: this.#timeoutMs },
        cause: error,
      });
    }
  }

  #unreachableMessage(timedOut: boolean): string {
    const what = timedOut ? `did not answer within ${this.#timeoutMs} ms` : 'cannot be reached';
    return `The Quark server at ${this.uri} ${what}. Check the address, and that "quark dashboard" or "quark demo" is running.`;
  }

  #checkVersion(response: Response): void {
    const version = response.headers.get(PROTOCOL_HEADER);
    if (version === String(PROTOCOL_VERSION)) return;
    if (version === null) {
      throw new SessionStoreError(
        'rejected',
        `What answers at ${this.uri} is not a Quark server.`,
        { details: { uri: this.uri } },
      );
    }
    throw new SessionStoreError(
      'version',
      `The server at ${this.uri} speaks version ${version.slice(0, 16)} of the protocol, this reader version ${PROTOCOL_VERSION}. Use the same version of quark-sdk on both sides.`,
      { details: { uri: this.uri, protocol: PROTOCOL_VERSION } },
    );
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted)
      throw new SessionStoreError('closed', 'The store is closed.', { details: { uri: this.uri } });
  }
}

function baseOf(uri: string): URL {
  const rule = 'an http or https URL without a user name, query or fragment';
  let base: URL;
  try {
    base = new URL(uri);
  } catch {
    throw invalidInput('uri', uri, rule);
  }
  if (!/^https?:$/.test(base.protocol) || base.search !== '' || base.hash !== '')
    throw invalidInput('uri', uri, rule);
  // The value is left out of this message: it holds a password.
  if (base.username !== '' || base.password !== '')
    throw new QuarkError('invalid_input', `uri must be ${rule}.`, {
      details: { field: 'uri', rule },
    });
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

/** Only the reference travels, whatever else the caller's object holds. */
function referenceOf(segment: SegmentReference): SegmentReference {
  const { runId, table, writerId, batchNumber, checksum } = segment;
  const identity = { runId, table, writerId, batchNumber };
  return checksum === undefined ? identity : { ...identity, checksum };
}

async function boundedBytes(response: Response, uri: string): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(response.headers.get('content-length') ?? 0) > MAX_ANSWER_BYTES) {
    throw new SessionStoreError(
      'too_large',
      `An answer of ${uri} is larger than ${MAX_ANSWER_BYTES} bytes.`,
      { details: { uri } },
    );
  }
  return new Uint8Array(await response.arrayBuffer());
}

function parseJson(bytes: Uint8Array, uri: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new SessionStoreError(
      'rejected',
      `What answers at ${uri} is not a Quark server: its answer is not JSON.`,
      { details: { uri }, cause },
    );
  }
}

function tryJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function* slices<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
