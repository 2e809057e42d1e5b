/** The routes about users: whose key it is, and for keys of scope `admin` that user's keys and shares. */
import { checkCount, checkLiteral } from '../../base/assert.ts';
import { invalidInput, QuarkError, SessionStoreError } from '../../base/errors.ts';
import { QUOTA_RESOURCES } from '../../store/quotas.ts';
import {
  DEFAULT_SPACE_NAME,
  encodeKey,
  encodeShare,
  KEY_SCOPES,
  RUN_ACCESS,
} from '../../wire/access-messages.ts';
import { encodeAuditLine } from '../../wire/audit-messages.ts';
import { encodeQuota } from '../../wire/quota-messages.ts';
import { methodsAt } from '../../wire/route-paths.ts';
import { newKeyFields, newQuotaFields, newShareFields } from '../../wire/account-fields.ts';
import type { RouteQuery } from '../../wire/route-types.ts';
import { Fields } from '../../wire/wire.ts';
import type { AccessBook } from '../access/access-book.ts';
import type { OwnAccess, OwnShare, Requester } from '../access/own-access.ts';
import type { RemovalOptions } from '../access/removals.ts';
import { checkScope, type Principal } from '../access/principal.ts';
import { plain } from '../http/answers.ts';
import { createRouter, type Handlers, type RequestScope } from '../http/router.ts';
import type { Usage } from '../limits/usage.ts';
import type { ServiceLogger } from '../log/logging.ts';
import { undoTime } from './undo-floor.ts';

/** What the routes share. */
export type AccountParts = {
  readonly access: AccessBook;
  readonly own: OwnAccess;
  readonly usage: Pick<Usage, 'takeKey'>;
  readonly logger: ServiceLogger;
};

/** Whose request it is, and where memory for its body is reserved. */
export type AccountScope = RequestScope & { readonly principal: Requester };

const HANDLERS: Handlers<'account', AccountScope, AccountParts> = {
  'GET /account': async ({ scope: { principal } }, { access }) => {
    const { userName, keyId, scope } = principal;
    // Names of projects are keys of this answer, and stay as they are.
    const spaces = await access.listSpaces(principal);
    return { user: userName, key_id: keyId ?? null, scope, spaces };
  },

  'DELETE /account': async ({ scope: { principal }, query }, { own, logger }) => {
    const { user } = query;
    if (user !== principal.userName)
      throw invalidInput('user', user, 'the name of the user whose key this is');
    const removed = await own.removeUser(principal, removalOf(query));
    logger.info({ removedBy: principal.keyId }, 'user removed');
    return { removed };
  },

  'DELETE /spaces/:space': async ({ scope: { principal }, params, query }, { own, logger }) => {
    const options = { ...removalOf(query), ...undoTime(query.keepMs, own.minUndoMs(principal)) };
    const removed = await own.removeSpace(principal, params.space, options);
    logger.info({ removedBy: principal.keyId }, 'space removed');
    return { removed };
  },

  'GET /keys': async ({ scope: { principal } }, { own }) => ({
    keys: (await own.listKeys(principal)).map(encodeKey),
  }),

  'POST /keys': async ({ scope: { principal }, body }, { own, logger, usage }) => {
    const fields = messageOf(await body(), 'key', newKeyFields);
    checkOwner('user', fields.get('user'), principal);
    const scope = fields.get('scope');
    const label = fields.get('label');
    usage.takeKey(principal);
    const made = await own.createKey(principal, {
      ...(scope === undefined ? {} : { scope: checkLiteral('scope', scope, KEY_SCOPES) }),
      ...(label === undefined ? {} : { label: fields.text('label') }),
      expiresAt: instantOf(fields.get('expires_at_ms')),
    });
    logger.info({ keyId: made.keyId, scope: made.scope, madeBy: principal.keyId }, 'key made');
    return { key: { ...encodeKey(made), key: made.key } };
  },

  'DELETE /keys/:keyId': async ({ scope: { principal }, params }, { own, logger }) => {
    const revoked = await own.revokeKey(principal, params.keyId);
    logger.info({ keyId: revoked.keyId, revokedBy: principal.keyId }, 'key revoked');
    return { key: encodeKey(revoked) };
  },

  'GET /audit': async ({ scope: { principal }, query }, { own }) => ({
    lines: (await own.listAudit(principal, query)).map(encodeAuditLine),
  }),

  'GET /quotas': async ({ scope: { principal } }, { own }) => ({
    quotas: (await own.listQuotas(principal)).map(encodeQuota),
  }),

  'PUT /quotas': async ({ scope: { principal }, body }, { own, logger }) => {
    const fields = messageOf(await body(), 'quota', newQuotaFields);
    checkOwner('user', fields.get('user'), principal);
    const limits = Object.fromEntries(
      QUOTA_RESOURCES.flatMap((resource) => {
        const value = fields.get(resource);
        if (value === undefined) return [];
        return [[resource, value === null ? null : checkCount(resource, value)]];
      }),
    );
    const space = fields.get('space') === undefined ? DEFAULT_SPACE_NAME : fields.text('space');
    const quota = await own.setQuota(principal, {
      project: fields.text('project'),
      space,
      ...limits,
    });
    logger.info({ setBy: principal.keyId }, 'quota set');
    return { quota: encodeQuota(quota) };
  },

  'GET /shares': async ({ scope: { principal } }, { own }) => ({
    shares: (await own.listShares(principal)).map(encodeShare),
  }),

  'PUT /shares': async ({ scope: { principal }, body }, { own, logger }) => {
    const fields = messageOf(await body(), 'share', newShareFields);
    checkOwner('owner', fields.get('owner'), principal);
    const access = checkLiteral('access', fields.get('access') ?? 'read', RUN_ACCESS);
    const space = fields.get('space') === undefined ? DEFAULT_SPACE_NAME : fields.text('space');
    const wanted = { space, project: fields.text('project'), user: fields.text('user'), access };
    await own.share(principal, wanted);
    logger.info({ access, sharedBy: principal.keyId }, 'project shared');
    return { share: { owner: principal.userName, ...wanted } };
  },

  'DELETE /shares': async ({ scope: { principal }, query }, { own, logger }) => {
    const { owner, space, project = '', user = '' } = query;
    checkOwner('owner', owner, principal);
    const wanted: OwnShare = { project, user, ...(space === undefined ? {} : { space }) };
    if (!(await own.unshare(principal, wanted)))
      throw new SessionStoreError('missing', 'There is no such share.', {
        details: { space: space ?? DEFAULT_SPACE_NAME, project, user },
      });
    logger.info({ unsharedBy: principal.keyId }, 'share taken back');
    return {};
  },
};

function removalOf({
  dryRun,
  keepMs,
  purge,
}: RouteQuery<'DELETE /spaces/:space'>): Omit<RemovalOptions, 'actor'> {
  return {
    isDryRun: dryRun === 'yes',
    purge: purge === 'yes',
    ...(keepMs === undefined ? {} : { keepMs }),
  };
}

/** Answers requests to these routes. Rejects with what a route throws. */
export type AccountHandler = (request: Request, scope: AccountScope) => Promise<Response>;

/** Makes the handler. */
export function createAccountHandler(parts: AccountParts): AccountHandler {
  const app = createRouter<'account', AccountScope, AccountParts>({
    group: 'account',
    handlers: HANDLERS,
    parts,
    limits: { maxUploadBytes: 0, maxBlobBytes: 0 },
    refuseQuery: (name, _value, rule) => invalidInput('query', name, rule),
    admit: ({ scope }, { principal }) => {
      if (scope === 'admin' || scope === 'delete') checkScope(principal, scope);
    },
    answer: (_context, answer) => plain(200, answer),
  });
  app.notFound(({ req: { method, path } }) => {
    throw new QuarkError('unsupported', `${method.slice(0, 20)} is not answered at this address.`, {
      details: { httpStatus: 405, allow: methodsAt(path, 'account').join(', ') },
    });
  });
  app.onError((error) => {
    throw error;
  });
  return async (request, scope) => app.fetch(request, { scope });
}

/** The one field of the body. A name that is not known is refused: a key must not last for ever by a typing error. */
function messageOf(body: Fields, what: string, known: object): Fields {
  const given = body.get(what);
  const fields = new Fields(what, given);
  const names = Object.keys(known);
  for (const name of Object.keys(typeof given === 'object' && given !== null ? given : {}))
    if (!names.includes(name))
      throw invalidInput(what, name, `an object with no other fields than ${names.join(', ')}`);
  return fields;
}

/** @throws {SessionStoreError} `unauthorised` (403) for somebody else */
function checkOwner(field: string, value: unknown, { userName }: Principal): void {
  if (value === undefined || value === userName) return;
  const rule = `"${userName}", whose key this is`;
  throw new SessionStoreError(
    'unauthorised',
    `${field} must be ${rule}: a key is for its own user. For others, use the command line at the machine of the service, with --storage-dir.`,
    { details: { field, rule, httpStatus: 403 } },
  );
}

function instantOf(value: unknown): string | number | null | undefined {
  if (value === undefined || value === null) return value;
  if (typeof value === 'number' || typeof value === 'string') return value;
  throw invalidInput(
    'expires_at_ms',
    value,
    'epoch milliseconds, ISO 8601 text, or null for no end',
  );
}
