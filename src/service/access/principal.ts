/** Who asks, and what they may do. */
import { invalidInput, SessionStoreError } from '../../base/errors.ts';
import {
  allows,
  DEFAULT_SPACE_NAME,
  type KeyScope,
  type RunAccess,
} from '../../wire/access-messages.ts';

/** Somebody whose key was checked, or the person at this machine. */
export type Principal = {
  readonly userId: string;
  readonly userName: string;
  /** Undefined for the person at this machine, who needs no key. */
  readonly keyId: string | undefined;
  readonly scope: KeyScope;
};

/** @throws {SessionStoreError} `unauthorised` (403) when the key does not reach that far */
export function checkScope(principal: Principal, needed: KeyScope): void {
  if (allows(principal.scope, needed)) return;
  throw new SessionStoreError(
    'unauthorised',
    `This needs a key of scope "${needed}"; yours has "${principal.scope}".`,
    { details: { needed, scope: principal.scope, httpStatus: 403 } },
  );
}

/** What a scope allows with runs. */
export function accessOf(scope: KeyScope): RunAccess {
  return allows(scope, 'write') ? 'write' : 'read';
}

/** How long what somebody deletes can be brought back, at least, in milliseconds: 0 for a key of scope `admin`. */
export function minUndoMsOf(
  { scope }: Pick<Principal, 'scope'>,
  { minUndoDays }: { readonly minUndoDays: number },
): number {
  return allows(scope, 'admin') ? 0 : minUndoDays * 24 * 3_600_000;
}

/** The user who is the person at this machine: their default space is that of the store without a service. */
export const LOCAL_USER = 'local';

/** The person at this machine, where no key is needed. */
export const LOCAL_PRINCIPAL: Principal = Object.freeze({
  userId: LOCAL_USER,
  userName: LOCAL_USER,
  keyId: undefined,
  scope: 'admin',
});

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const NAME_RULE =
  '1 to 128 letters, digits, ".", "_" or "-", starting with a letter or digit; a name, never a path';

/** The name of a user or a space. @throws {QuarkError} `invalid_input` */
export function checkAccessName(field: string, value: unknown): string {
  if (typeof value !== 'string' || !NAME.test(value) || value.includes('..'))
    throw invalidInput(field, value, NAME_RULE);
  return value;
}

/** A space as a request names it: `NAME` of the user's own, `OWNER:NAME` of somebody else's. */
export type SpaceAddress = {
  /** Name of the user whose space it is; undefined for the one who asks. */
  readonly owner: string | undefined;
  readonly name: string;
};

/** @throws {QuarkError} `invalid_input` */
export function parseSpaceAddress(text: string | undefined): SpaceAddress {
  if (text === undefined || text === '') return { owner: undefined, name: DEFAULT_SPACE_NAME };
  const cut = text.indexOf(':');
  if (cut < 0) return { owner: undefined, name: checkAccessName('space', text) };
  return {
    owner: checkAccessName('space', text.slice(0, cut)),
    name: checkAccessName('space', text.slice(cut + 1)),
  };
}

/**
 * What a space is called in the database. User ids and space names hold no slash, so no user reaches another's space by
 * choosing a name.
 */
export function storedSpace(userId: string, name: string): string {
  return userId === LOCAL_USER && name === DEFAULT_SPACE_NAME ? '' : `${userId}/${name}`;
}

/** Whose space it is that the database calls this, and what they call it. */
export function ownerOf(storedName: string): { readonly ownerId: string; readonly name: string } {
  const cut = storedName.indexOf('/');
  return cut < 0
    ? { ownerId: LOCAL_USER, name: DEFAULT_SPACE_NAME }
    : { ownerId: storedName.slice(0, cut), name: storedName.slice(cut + 1) };
}

/** What somebody is told who may only read: that it is their key, or what is shared with them. */
export function writeRefusal({ scope }: Principal, space: string): SessionStoreError {
  const message =
    accessOf(scope) === 'read'
      ? `This key may ${scope} and not write. Make one of scope "write" with "quark keys create".`
      : `Nothing in ${space} is shared with you for writing.`;
  return new SessionStoreError('unauthorised', message, { details: { httpStatus: 403 } });
}

/** What somebody is told who may not delete: that it is their key, or that the space is another user's. */
export function deleteRefusal(
  { scope }: Pick<Principal, 'scope'>,
  space: string,
): SessionStoreError {
  const message = allows(scope, 'delete')
    ? `Only its owner may delete, archive or restore what is in ${space}.`
    : `This needs a key of scope "delete" or "admin"; yours has "${scope}".`;
  return new SessionStoreError('unauthorised', message, {
    details: { needed: 'delete', scope, httpStatus: 403 },
  });
}

/** What somebody is told who may delete and not remove bytes before their time. */
export function purgeRefusal(
  { scope }: Pick<Principal, 'scope'>,
  space: string,
): SessionStoreError {
  if (scope !== 'delete') return deleteRefusal({ scope }, space);
  return new SessionStoreError(
    'unauthorised',
    'This needs a key of scope "admin"; yours has "delete". Nothing was changed. The bytes of a deleted run go by themselves when its time has come.',
    { details: { needed: 'admin', scope, httpStatus: 403 } },
  );
}
