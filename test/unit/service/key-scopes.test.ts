/** What each scope of a key contains. */
import { expect, it } from 'vitest';
import { accessOf, deleteRefusal, writeRefusal } from '../../../src/service/access/principal.ts';
import { allows, KEY_SCOPES } from '../../../src/wire/access-messages.ts';

it('write and delete contain read and not each other; admin contains all', () => {
  const contained = KEY_SCOPES.map((scope) => [
    scope,
    KEY_SCOPES.filter((needed) => allows(scope, needed)),
  ]);
  expect(Object.fromEntries(contained)).toEqual({
    read: ['read'],
    write: ['read', 'write'],
    delete: ['read', 'delete'],
    admin: ['read', 'write', 'delete', 'admin'],
  });
  expect(KEY_SCOPES.map(accessOf)).toEqual(['read', 'write', 'read', 'write']);
});

it('a refusal names the scope that is needed, or whose space it is', () => {
  const principal = { userId: 'u', userName: 'alice', keyId: 'qk_1', scope: 'write' } as const;
  const refused = deleteRefusal(principal, 'default');
  expect(refused.message).toContain('scope "delete" or "admin"; yours has "write"');
  expect(refused.details).toMatchObject({ needed: 'delete', httpStatus: 403 });
  expect(deleteRefusal({ ...principal, scope: 'delete' }, 'bob:default').message).toContain(
    'Only its owner',
  );
  expect(writeRefusal({ ...principal, scope: 'delete' }, 'default').message).toContain(
    'may delete and not write',
  );
});
