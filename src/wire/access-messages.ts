/** Users, keys and shares, as they travel: for a service, for its clients, and for its database. */
import {
  defineShape,
  instantMs,
  literal,
  nullable,
  shapeToJson,
  text,
  withoutFields,
  type Shape,
  type ValuesOf,
} from '../schema/shape.ts';
import { decoder } from './wire.ts';

/**
 * What a key allows. `read` and `write` are about runs, one's own and shared ones. `delete` is about runs of one's own: to
 * delete, archive and restore them. It contains `read` and not `write`, and `write` does not contain it. `admin` contains all
 * three, and adds the keys and shares of the key's own user, and the counters of the service; it opens nobody else's runs, and
 * makes no users.
 */
export const KEY_SCOPES = ['read', 'write', 'delete', 'admin'] as const;

/** One of {@link KEY_SCOPES}. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** What each scope contains, itself included. */
const CONTAINED: Readonly<Record<KeyScope, readonly KeyScope[]>> = {
  read: ['read'],
  write: ['read', 'write'],
  delete: ['read', 'delete'],
  admin: KEY_SCOPES,
};

/** Whether a scope contains another one. */
export function allows(scope: KeyScope, needed: KeyScope): boolean {
  return CONTAINED[scope].includes(needed);
}

/** See {@link RunAccess}. */
export const RUN_ACCESS = ['read', 'write'] as const;

/** What a user may do with runs. */
export type RunAccess = (typeof RUN_ACCESS)[number];

/** The space of requests that name none. */
export const DEFAULT_SPACE_NAME = 'default';

const keyFields = {
  /** `qk_` and 12 characters: no secret. */
  keyId: text({ doc: 'The public part: "qk_" and 12 characters.' }),
  user: text(),
  scope: literal(KEY_SCOPES),
  /** What the key is for, as its maker wrote; may be empty. */
  label: text(),
  /** UTC epoch milliseconds, like all instants here. */
  createdAtMs: instantMs(),
  /** From then on the key is refused; null: never. */
  expiresAtMs: nullable(instantMs({ doc: 'Refused from then on; null: never.' })),
  /** Since then the key is refused; null: it was not revoked. */
  revokedAtMs: nullable(instantMs({ doc: 'Refused since then; null: it was not revoked.' })),
};

/** A key as it travels. */
export const keyShape: Shape<typeof keyFields> = defineShape('key', keyFields);

/** A key as its maker gets it. */
export const newKeyShape: Shape = defineShape('key', {
  ...keyFields,
  key: text({ doc: 'The whole key, a secret.' }),
});

/** What is known of a key. The key itself is stored nowhere. */
export type UserKey = Omit<ValuesOf<typeof keyFields>, 'user'> & { readonly userName: string };

const shareFields = {
  owner: text(),
  /** Name of the owner's space that holds the project. */
  space: text(),
  project: text(),
  /** With whom it is shared. */
  user: text(),
  access: literal(RUN_ACCESS),
  createdAtMs: instantMs(),
};

/** A share as it travels. */
export const shareShape: Shape<typeof shareFields> = defineShape('share', shareFields);

/** A share as it was just made. */
export const newShareShape: Shape = withoutFields(shareShape, 'createdAtMs');

/** A project that another user may read or write. */
export type ProjectShare = Omit<ValuesOf<typeof shareFields>, 'owner' | 'user'> & {
  readonly ownerName: string;
  readonly userName: string;
};

/** Which key to make. */
export type NewKeyOptions = {
  /** Name of the user whose key it is; made if there is none of this name. */
  readonly user: string;
  /** `write` unless given. */
  readonly scope?: KeyScope;
  /** What the key is for, in a few words. */
  readonly label?: string;
  /** When the key ends: ISO 8601 text, a Date or epoch milliseconds. Never unless given. */
  readonly expiresAt?: string | number | Date;
};

/** Which project to share, of whose, with whom. */
export type ShareOptions = {
  /** Name of the owner of the project. */
  readonly owner: string;
  /** Name of the owner's space that holds the project; `default` unless given. */
  readonly space?: string;
  /** Name of the project. */
  readonly project: string;
  /** Name of the user who is to see it. */
  readonly user: string;
};

/** A key in the names of the wire. */
export function encodeKey(key: UserKey): object {
  return shapeToJson(keyShape, { ...key, user: key.userName });
}

/** @throws {SessionStoreError} `rejected` */
export function decodeKey(value: unknown): UserKey {
  const { user: userName, ...key } = decodeKeyFields(value);
  return { ...key, userName };
}

const decodeKeyFields = decoder(keyShape);

/** A share in the names of the wire. */
export function encodeShare(share: ProjectShare): object {
  return shapeToJson(shareShape, { ...share, owner: share.ownerName, user: share.userName });
}

/** @throws {SessionStoreError} `rejected` */
export function decodeShare(value: unknown): ProjectShare {
  const { owner: ownerName, user: userName, ...share } = decodeShareFields(value);
  return { ...share, ownerName, userName };
}

const decodeShareFields = decoder(shareShape);
