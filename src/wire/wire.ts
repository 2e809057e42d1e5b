/**
 * The JSON messages of `protocol.ts`. Encoding turns the names of a store's types into snake_case; decoding checks every
 * field, because the other side may be anything that answers on that address.
 */
import { SessionStoreError, show } from '../base/errors.ts';
import type {
  BatchRange,
  Lease,
  NewSegment,
  SegmentIdentity,
  SegmentManifest,
  SeenTable,
  SegmentReference,
  StoredProject,
  StoredRun,
  StreamState,
  UpdateResult,
} from '../store/store.ts';

/** Names on the wire by names in code: a list of manifests has the same few thousands of times. */
const wireNames = new Map<string, string>();
/** Far more than the messages have; whoever hands in other data does not fill the memory. */
const MAX_WIRE_NAMES = 1_000;

/** Renames the keys of plain data, at every depth, from camelCase to snake_case. */
export function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toWire);
  if (typeof value !== 'object' || value === null) return value;
  const renamed: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) renamed[wireName(key)] = toWire(item);
  return renamed;
}

/** A name in snake_case. */
export function wireName(key: string): string {
  let name = wireNames.get(key);
  if (name === undefined) {
    name = key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
    if (wireNames.size < MAX_WIRE_NAMES) wireNames.set(key, name);
  }
  return name;
}

/** A JSON object whose fields are taken one by one, each with its check. */
export class Fields {
  readonly #what: string;
  readonly #fields: object;

  /** @throws {SessionStoreError} `rejected` when `value` is not an object */
  constructor(what: string, value: unknown) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw misfit(what, value, 'an object');
    this.#what = what;
    this.#fields = value;
  }

  get(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? Reflect.get(this.#fields, name) : undefined;
  }

  text(name: string): string {
    const value = this.get(name);
    if (typeof value !== 'string') throw misfit(`${this.#what}.${name}`, value, 'text');
    return value;
  }

  flag(name: string): boolean {
    const value = this.get(name);
    if (typeof value !== 'boolean') throw misfit(`${this.#what}.${name}`, value, 'true or false');
    return value;
  }

  number(name: string): number {
    const value = this.get(name);
    if (typeof value !== 'number') throw misfit(`${this.#what}.${name}`, value, 'a number');
    return value;
  }

  count(name: string): number {
    const value = this.number(name);
    if (!Number.isSafeInteger(value)) throw misfit(`${this.#what}.${name}`, value, 'an integer');
    return value;
  }

  numberOrNull(name: string): number | null {
    return this.get(name) === null ? null : this.number(name);
  }

  list(name: string): readonly unknown[] {
    const value = this.get(name);
    if (!Array.isArray(value)) throw misfit(`${this.#what}.${name}`, value, 'a list');
    return value;
  }

  texts(name: string): readonly string[] {
    return this.list(name).map((item) => {
      if (typeof item !== 'string') throw misfit(`${this.#what}.${name}`, item, 'a list of texts');
      return item;
    });
  }
}

/** @throws {SessionStoreError} `rejected` */
export function decodeProject(value: unknown): StoredProject {
  const fields = new Fields('project', value);
  return {
    id: fields.text('id'),
    name: fields.text('name'),
    createdAtMs: fields.number('created_at_ms'),
  };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeRun(value: unknown): StoredRun {
  return { ...decodeNewRun(value), revision: new Fields('run', value).count('revision') };
}

/** A run that is to be added. @throws {SessionStoreError} `rejected` */
export function decodeNewRun(value: unknown): Omit<StoredRun, 'revision'> {
  const fields = new Fields('run', value);
  return {
    id: fields.text('id'),
    projectId: fields.text('project_id'),
    projectName: fields.text('project_name'),
    status: fields.text('status'),
    startedAtMs: fields.number('started_at_ms'),
    tags: fields.texts('tags'),
    document: fields.text('document'),
  };
}

/** What a change of a run came to. @throws {SessionStoreError} `rejected` */
export function decodeUpdate(fields: Fields): UpdateResult {
  const kind = fields.text('kind');
  if (kind !== 'updated' && kind !== 'conflict')
    throw misfit('answer.kind', kind, '"updated" or "conflict"');
  return { kind, run: decodeRun(fields.get('run')) };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeLease(value: unknown): Lease {
  const fields = new Fields('lease', value);
  return {
    runId: fields.text('run_id'),
    holder: fields.text('holder'),
    expiresAtMs: fields.number('expires_at_ms'),
  };
}

function decodeIdentity(value: unknown): SegmentIdentity {
  const fields = new Fields('segment', value);
  return {
    runId: fields.text('run_id'),
    table: fields.text('table'),
    writerId: fields.text('writer_id'),
    batchNumber: fields.count('batch_number'),
  };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeSeenTable(value: unknown): SeenTable {
  const fields = new Fields('table', value);
  return {
    runId: fields.text('run_id'),
    table: fields.text('table'),
    replaceCount: fields.count('replace_count'),
  };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeStream(value: unknown): StreamState {
  const nextSequence = new Fields('table', value).count('next_sequence');
  return { ...decodeSeenTable(value), nextSequence };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeReference(value: unknown): SegmentReference {
  const fields = new Fields('segment', value);
  const identity = decodeIdentity(value);
  return fields.get('checksum') === undefined
    ? identity
    : { ...identity, checksum: fields.count('checksum') };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeManifest(value: unknown): SegmentManifest {
  const fields = new Fields('manifest', value);
  return {
    ...decodeNewManifest(value),
    firstSequence: fields.count('first_sequence'),
    lastSequence: fields.count('last_sequence'),
  };
}

/** A manifest before a store has given it sequence numbers. @throws {SessionStoreError} `rejected` */
export function decodeNewManifest(value: unknown): NewSegment['manifest'] {
  const fields = new Fields('manifest', value);
  const encoding = fields.text('encoding');
  if (encoding !== 'arrow' && encoding !== 'packed')
    throw misfit('manifest.encoding', encoding, '"arrow" or "packed"');
  return {
    ...decodeIdentity(value),
    rowCount: fields.count('row_count'),
    stepMin: fields.numberOrNull('step_min'),
    stepMax: fields.numberOrNull('step_max'),
    epochMin: fields.numberOrNull('epoch_min'),
    epochMax: fields.numberOrNull('epoch_max'),
    timeMinMs: fields.numberOrNull('time_min_ms'),
    timeMaxMs: fields.numberOrNull('time_max_ms'),
    keys: fields.get('keys') === null ? null : fields.texts('keys'),
    schemaVersion: fields.count('schema_version'),
    encoding,
    sizeBytes: fields.count('size_bytes'),
    checksum: fields.count('checksum'),
    sources: fields.list('sources').map(decodeRange),
  };
}

function decodeRange(value: unknown): BatchRange {
  const fields = new Fields('manifest.sources', value);
  return {
    writerId: fields.text('writer_id'),
    batchStart: fields.count('batch_start'),
    batchLast: fields.count('batch_last'),
  };
}

function misfit(field: string, value: unknown, rule: string): SessionStoreError {
  return new SessionStoreError('rejected', `${field} must be ${rule}; got ${show(value)}.`, {
    details: { field, value: show(value), rule },
  });
}
