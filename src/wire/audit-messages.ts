/** Lines of the audit log, as they travel: for a service, for its clients, and for its database. */
import { SessionStoreError } from '../base/errors.ts';
import {
  count,
  defineShape,
  instantMs,
  nullable,
  schemaOf,
  shapeToJson,
  text,
  type JsonSchema,
  type Shape,
  type ValuesOf,
} from '../schema/shape.ts';
import { decoder, Fields } from './wire.ts';

/**
 * What is recorded. The part before the dot is the family, which a reader may ask for as a whole. `refused` is an attempt that
 * needed a key of scope `delete` or `admin`.
 */
export const AUDIT_ACTIONS = [
  'key.create',
  'key.revoke',
  'user.create',
  'user.delete',
  'share.put',
  'share.remove',
  'run.delete',
  'run.archive',
  'run.restore',
  'run.purge',
  'table.delete',
  'artifact.delete',
  'project.delete',
  'document.delete',
  'space.delete',
  'alert.silence',
  'alert.unsilence',
  'blob.sweep',
  'retention.set',
  'retention.apply',
  'quota.set',
  'quota.remove',
  'quota.recount',
  'refused',
] as const;

/** One of {@link AUDIT_ACTIONS}. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

const lineFields = {
  /** Greater than that of every line that was there before it. */
  id: count({ doc: 'Greater than that of every line before it.' }),
  /** UTC epoch milliseconds. */
  atMs: instantMs(),
  /** The key that asked; null: none was needed, or somebody acted at the machine of the service, or the service by itself. */
  keyId: nullable(
    text({ doc: 'The key that asked; null: none was needed, as at the machine of the service.' }),
  ),
  /** Id of who acted; null: somebody at the machine of the service, or the service by itself. */
  userId: nullable(text({ doc: 'Who acted; null: the machine of the service.' })),
  /** What they were called then. */
  user: nullable(text({ doc: 'What they were called then.' })),
  /** See {@link AUDIT_ACTIONS}; newer versions may record others. */
  action: text({ doc: 'What was done, such as `run.delete` or `key.create`.' }),
  /** What kind of thing it was done to: `run`, `key`, `user`, `project`, ... */
  targetKind: text(),
  targetId: text(),
  /** Whose thing it is; null where it is nobody's in particular. */
  ownerId: nullable(text({ doc: 'Id of the user whose thing it is.' })),
  /** The space of that user. */
  space: nullable(text()),
  /** Address that the request came from; null at the machine of the service. */
  from: nullable(text({ doc: 'Address that the request came from.' })),
};

const lineShape: Shape<typeof lineFields> = defineShape('line', lineFields);

/** A line of the audit log. Lines are never changed. */
export type AuditLine = ValuesOf<typeof lineFields> & {
  /** What else is known of the act; plain JSON. */
  readonly detail: Readonly<Record<string, unknown>>;
};

/** Which lines to read. */
export type AuditFilter = {
  /** Lines after the one with this id, oldest first. */
  readonly after?: number;
  /** Lines before the one with this id, newest first, which is also the order unless `after` is given. */
  readonly before?: number;
  /** An action, or a family such as `run`. */
  readonly action?: string;
  /** Name of who acted. */
  readonly user?: string;
  /** Id of what it was done to. */
  readonly target?: string;
  /** Not before this instant: epoch milliseconds. */
  readonly sinceMs?: number;
  /** Not after this instant: epoch milliseconds. */
  readonly untilMs?: number;
  /** How many lines at most, from 1 to 500. Default: 100. */
  readonly limit?: number;
};

/** Most lines of one answer. */
export const MAX_AUDIT_LINES = 500;

const lineSchema = schemaOf(lineShape);

/** The schema of a line. */
export const auditLineSchema: JsonSchema = {
  ...lineSchema,
  properties: { ...Object(lineSchema['properties']), detail: { type: 'object' } },
  required: [...Object.keys(Object(lineSchema['properties'])), 'detail'],
};

/** A line in the names of the wire. The names inside `detail` stay as they are. */
export function encodeAuditLine({ detail, ...line }: AuditLine): object {
  return { ...shapeToJson(lineShape, line), detail };
}

/** @throws {SessionStoreError} `rejected` */
export function decodeAuditLine(value: unknown): AuditLine {
  const detail = new Fields('line', value).get('detail');
  if (typeof detail !== 'object' || detail === null || Array.isArray(detail))
    throw new SessionStoreError('rejected', 'line.detail of an answer must be an object.');
  return { ...decodeLine(value), detail: { ...detail } };
}

const decodeLine = decoder(lineShape);
