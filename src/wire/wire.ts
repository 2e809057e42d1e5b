/**
 * JSON messages. Encoding turns names into snake_case; decoding checks every field, because the other side may be anything that
 * answers at that address.
 */
import { SessionStoreError, show } from '../base/errors.ts';
import { deletedRunShape, type DeletedRun } from '../records/shapes/deleted-run.ts';
import {
  lapsedLeaseShape,
  leaseShape,
  type LapsedLease,
  type Lease,
} from '../records/shapes/lease.ts';
import {
  manifestShape,
  newManifestShape,
  referenceShape,
  type SegmentManifest,
  type SegmentReference,
} from '../records/shapes/manifest.ts';
import { projectShape, type StoredProject } from '../records/shapes/project.ts';
import {
  newRunShape,
  runGenerationShape,
  runShape,
  type StoredRun,
} from '../records/shapes/run.ts';
import { streamShape, tableEpochShape, type StreamState } from '../records/shapes/stream.ts';
import { tableBatchesShape, type TableBatches } from '../records/shapes/table-batches.ts';
import {
  shapeFromJson,
  type Fields as ShapeFields,
  type Shape,
  type ValuesOf,
} from '../schema/shape.ts';
import type { NewSegment, RunGeneration, TableEpoch, UpdateResult } from '../store/store.ts';

/** Names on the wire by names in code: a list of manifests has the same few thousands of times. */
const wireNames = new Map<string, string>();
/** Far more than the messages have; other data does not fill the memory. */
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

/** What reads the messages of a shape. What it returns has every field of the shape and nothing else. */
export function decoder<F extends ShapeFields>(shape: Shape<F>): (value: unknown) => ValuesOf<F> {
  const refuse = (path: string, value: unknown, rule: string): SessionStoreError =>
    misfit(`${shape.name}.${path}`.replace(/\.$/, ''), value, rule);
  /** @throws {SessionStoreError} `rejected` */
  return (value) => shapeFromJson(shape, value, refuse);
}

export const decodeProject: (value: unknown) => StoredProject = decoder(projectShape);
export const decodeRun: (value: unknown) => StoredRun = decoder(runShape);
export const decodeDeletedRun: (value: unknown) => DeletedRun = decoder(deletedRunShape);
export const decodeLease: (value: unknown) => Lease = decoder(leaseShape);
export const decodeLapsedLease: (value: unknown) => LapsedLease = decoder(lapsedLeaseShape);
export const decodeTableBatches: (value: unknown) => TableBatches = decoder(tableBatchesShape);
export const decodeStream: (value: unknown) => StreamState = decoder(streamShape);
export const decodeReference: (value: unknown) => SegmentReference = decoder(referenceShape);
export const decodeManifest: (value: unknown) => SegmentManifest = decoder(manifestShape);

/** Which revision a run has. */
export function decodeRevision(value: unknown): { readonly id: string; readonly revision: number } {
  const run = new Fields('run', value);
  return { id: run.text('id'), revision: run.count('revision') };
}

/** A run that is to be added. */
export const decodeNewRun: (value: unknown) => Omit<StoredRun, 'revision'> = decoder(newRunShape);

/** A manifest before a store has given it sequence numbers. */
export const decodeNewManifest: (value: unknown) => NewSegment['manifest'] =
  decoder(newManifestShape);

/** How often a table was emptied when its writer last asked: a fencing token. */
export const decodeTableEpoch: (value: unknown) => TableEpoch = decoder(tableEpochShape);

/** The generation that a live session has of its run: a fencing token. */
export const decodeRunGeneration: (value: unknown) => RunGeneration = decoder(runGenerationShape);

/** What a change of a run came to. @throws {SessionStoreError} `rejected` */
export function decodeUpdate(fields: Fields): UpdateResult {
  const kind = fields.text('kind');
  if (kind !== 'updated' && kind !== 'conflict')
    throw misfit('answer.kind', kind, '"updated" or "conflict"');
  return { kind, run: decodeRun(fields.get('run')) };
}

function misfit(field: string, value: unknown, rule: string): SessionStoreError {
  return new SessionStoreError('rejected', `${field} must be ${rule}; got ${show(value)}.`, {
    details: { field, value: show(value), rule },
  });
}
