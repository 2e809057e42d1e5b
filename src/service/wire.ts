/**
 * The JSON messages of `protocol.ts`. Encoding turns the names of a store's types into snake_case; decoding checks every
 * field, because the other side may be anything that answers on that address.
 */
import {
  ERROR_CODES,
  isQuarkError,
  QuarkError,
  RunNotFoundError,
  SessionStoreError,
  show,
  STORE_FAILURE_REASONS,
  type ErrorDetails,
} from '../base/errors.ts';
import type {
  BatchRange,
  Lease,
  SegmentIdentity,
  SegmentManifest,
  SegmentReference,
  StoredProject,
  StoredRun,
} from '../store/store.ts';
import { STATUS_OF_REASON } from './protocol.ts';

/** Renames the keys of plain data, at every depth, from camelCase to snake_case. */
export function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toWire);
  if (typeof value !== 'object' || value === null) return value;
  const renamed: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    renamed[key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)] = toWire(item);
  }
  return renamed;
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
  const fields = new Fields('run', value);
  return {
    id: fields.text('id'),
    projectId: fields.text('project_id'),
    projectName: fields.text('project_name'),
    status: fields.text('status'),
    startedAtMs: fields.number('started_at_ms'),
    tags: fields.texts('tags'),
    document: fields.text('document'),
    revision: fields.count('revision'),
  };
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
  const encoding = fields.text('encoding');
  if (encoding !== 'arrow' && encoding !== 'packed')
    throw misfit('manifest.encoding', encoding, '"arrow" or "packed"');
  return {
    ...decodeIdentity(value),
    rowCount: fields.count('row_count'),
    firstSequence: fields.count('first_sequence'),
    lastSequence: fields.count('last_sequence'),
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

/** An error as it travels: its HTTP status and its body. */
export function encodeError(error: unknown): { readonly status: number; readonly body: object } {
  if (!isQuarkError(error)) {
    // What an unknown error says may be about this machine; it is nobody's business at the other end.
    return {
      status: 500,
      body: {
        code: 'store_failed',
        message: 'The server failed to answer.',
        details: { reason: 'failed' },
      },
    };
  }
  return {
    status: statusOf(error),
    body: { code: error.code, message: error.message, details: plainDetails(error.details) },
  };
}

/** The error that an answer other than 200 stands for. `where` names the store in its message. */
export function decodeError(status: number, body: unknown, where: string): QuarkError {
  const fallback = new SessionStoreError(
    status === 401 || status === 403
      ? 'unauthorised'
      : status === 413
        ? 'too_large'
        : status >= 500
          ? 'failed'
          : 'rejected',
    `${where} answered with HTTP status ${status}. Is a Quark server running at this address?`,
    { details: { status, where } },
  );
  if (typeof body !== 'object' || body === null || !('code' in body) || !('message' in body))
    return fallback;
  const code = ERROR_CODES.find((known) => known === body.code);
  if (code === undefined || typeof body.message !== 'string') return fallback;
  const given =
    'details' in body && typeof body.details === 'object' && body.details !== null
      ? body.details
      : {};
  const details: ErrorDetails = { ...given, where, status };
  if (code === 'run_not_found') {
    const runId = details['runId'];
    return new RunNotFoundError(typeof runId === 'string' ? runId : '', where);
  }
  if (code !== 'store_failed') return new QuarkError(code, body.message, { details });
  const reason = STORE_FAILURE_REASONS.find((known) => known === details['reason']) ?? 'failed';
  return new SessionStoreError(reason, body.message, { details });
}

function statusOf(error: QuarkError): number {
  switch (error.code) {
    case 'invalid_input':
    case 'schema_validation':
      return 400;
    case 'run_not_found':
    case 'artifact_not_found':
      return 404;
    case 'invalid_run_state':
      return 409;
    case 'writer_closed':
    case 'aborted':
      return 503;
    case 'schema_migration':
    case 'segment_damaged':
    case 'kernel_failed':
    case 'probe_failed':
    case 'retention_failed':
      return 500;
    case 'unsupported':
      return 404;
    case 'store_failed': {
      const reason =
        STORE_FAILURE_REASONS.find((known) => known === error.details['reason']) ?? 'failed';
      return STATUS_OF_REASON[reason];
    }
  }
}

/** The details that are plain values; objects inside them may be anything. */
function plainDetails(details: ErrorDetails): ErrorDetails {
  return Object.fromEntries(
    Object.entries(details).filter(
      ([, value]) => ['string', 'number', 'boolean'].includes(typeof value) || value === null,
    ),
  );
}

function misfit(field: string, value: unknown, rule: string): SessionStoreError {
  return new SessionStoreError('rejected', `${field} must be ${rule}; got ${show(value)}.`, {
    details: { field, value: show(value), rule },
  });
}
