/** What a backup says of one moment of a store, and the file that says it. */
import { createHash } from 'node:crypto';
import { SessionStoreError } from '../../base/errors.ts';
import {
  count,
  defineShape,
  instantMs,
  list,
  shapeFromJson,
  shapeToJson,
  text,
  texts,
  type Shape,
  type ValuesOf,
} from '../../schema/shape.ts';

/** The version of the format of a backup. A program refuses folders of a later one. */
export const BACKUP_VERSION = 1;

const blobFields = { sha256: text(), sizeBytes: count() };
const blobShape: Shape<typeof blobFields> = defineShape('blob', blobFields);

const fields = {
  version: count(),
  /** Sorts by the time at which the snapshot was made. */
  id: text(),
  /** The moment of the database, in UTC epoch milliseconds. */
  madeAtMs: instantMs(),
  /** The store that it is of, as a URI. */
  source: text(),
  /** The release that made it. */
  madeBy: text(),
  /** The version of the layout of the database. */
  layout: count(),
  pageBytes: count(),
  pageCount: count(),
  /** Pages of each chunk but the last. */
  chunkPages: count(),
  /** The SHA-256 of each chunk of the database, in order. */
  chunks: texts(),
  /** Blobs that are files beside the database. */
  blobs: list(blobShape, 'Blob'),
  /** Blobs that the database names and whose bytes were missing or damaged in the store itself. */
  lostBlobs: texts(),
  runCount: count(),
  segmentCount: count(),
};

/** What a backup says of one moment of a store. */
export const snapshotShape: Shape<typeof fields> = defineShape('snapshot', fields);

/** What a backup says of one moment of a store. */
export type Snapshot = ValuesOf<typeof fields>;

/** The id of a new snapshot: people can read the time in it, and it sorts after `last` even where the clock was turned back. */
export function snapshotId(nowMs: number, random: string, last?: string): string {
  const lastMs = last === undefined ? Number.NEGATIVE_INFINITY : timeOf(last);
  const time = new Date(Math.max(nowMs, lastMs + 1)).toISOString();
  return `${time.replaceAll(/[-:.]/g, '')}-${random}`;
}

const ID = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z-[0-9a-f]{6}$/;

/** Whether a text is the id of a snapshot, which is also the name of a file. */
export function isSnapshotId(id: string): boolean {
  return ID.test(id);
}

function timeOf(id: string): number {
  const [, year, month, day, hour, minute, second, ms] = (ID.exec(id) ?? []).map(Number);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second, ms);
}

/** The file of a snapshot: its JSON, and on a line after it the SHA-256 of the JSON. */
export function snapshotText(snapshot: Snapshot): string {
  const json = JSON.stringify(shapeToJson(snapshotShape, snapshot));
  return `${json}\n${sha256Of(json)}\n`;
}

/** Reads the file of a snapshot. @throws {SessionStoreError} `corrupt`, or `version` for a later format */
export function readSnapshot(file: string, path: string): Snapshot {
  const [json = '', sum = ''] = file.split('\n');
  if (sha256Of(json) !== sum) throw damagedSnapshot(path, 'its checksum does not match');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw damagedSnapshot(path, 'it is not JSON');
  }
  const version = typeof value === 'object' && value !== null && Reflect.get(value, 'version');
  if (typeof version === 'number' && version > BACKUP_VERSION)
    throw new SessionStoreError(
      'version',
      `${path} is of a newer Quark (format ${version}; this one knows ${BACKUP_VERSION}). Nothing was changed. Update quark-sdk to use it.`,
      { details: { path, found: version, known: BACKUP_VERSION } },
    );
  const snapshot = shapeFromJson(snapshotShape, value, (field, _, rule) =>
    damagedSnapshot(path, `${field} must be ${rule}`),
  );
  const { blobs, chunkPages, chunks, id, pageBytes, pageCount } = snapshot;
  const isWhole =
    isSnapshotId(id) &&
    pageBytes >= 512 &&
    pageBytes <= 65_536 &&
    chunkPages > 0 &&
    pageCount >= 0 &&
    chunks.length === Math.ceil(pageCount / chunkPages);
  const names = [...chunks, ...blobs.map(({ sha256 }) => sha256)];
  if (!isWhole || !names.every(isSha256)) throw damagedSnapshot(path, 'its numbers do not agree');
  return snapshot;
}

/** Bytes of a chunk of a snapshot. */
export function chunkBytes(snapshot: Snapshot, index: number): number {
  const { chunkPages, pageBytes, pageCount } = snapshot;
  return Math.min(chunkPages, pageCount - index * chunkPages) * pageBytes;
}

/** The SHA-256 of text or bytes, in lowercase hex digits. */
export function sha256Of(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Whether a text is a SHA-256 in lowercase hex digits. */
export function isSha256(value: string): boolean {
  return /^[0-9a-f]{64}$/.test(value);
}

function damagedSnapshot(path: string, reason: string): SessionStoreError {
  return new SessionStoreError(
    'corrupt',
    `The snapshot ${path} is damaged: ${reason}. Nothing was changed. Use another snapshot ("quark backup list").`,
    { details: { path, reason } },
  );
}
