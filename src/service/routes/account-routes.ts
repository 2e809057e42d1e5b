/** The routes about users: whose key it is, and for keys of scope `admin` that user's keys and shares. */
import { checkLiteral } from '../../base/assert.ts';
import { invalidInput, QuarkError, SessionStoreError } from '../../base/errors.ts';
import type { AccessBook } from '../access/access-book.ts';
import type { ProjectShare, UserKey } from '../access/access-sql.ts';
import type { OwnAccess, OwnShare } from '../access/own-access.ts';
import {
  checkScope,
  DEFAULT_SPACE_NAME,
  KEY_SCOPES,
  type KeyScope,
  type Principal,
  type RunAccess,
} from '../access/principal.ts';
import { HEADERS } from '../http/answers.ts';
import { readJson } from '../../wire/body.ts';
import type { ServiceLogger } from '../log/logging.ts';
import { chooseVersion, PROTOCOL_HEADER } from '../../wire/protocol.ts';
import { SERVICE_ROUTES } from '../../wire/service-routes.ts';
import type { Usage } from '../limits/usage.ts';
import { Fields } from '../../wire/wire.ts';

/** What the routes are made of. */
export type AccountParts = {
  readonly access: AccessBook;
  readonly own: OwnAccess;
  readonly usage: Pick<Usage, 'takeKey'>;
  readonly logger: ServiceLogger;
};

/** A request, whose it is, and where memory for its body is booked. */
export type AccountRequest = {
  readonly request: Request;
  readonly path: string;
  readonly principal: Principal;
  readonly takeRoom: (bytes: number) => void;
};

type Handler = (asked: AccountRequest, parts: AccountParts) => Promise<object>;

/** Bytes of a message about a key or a share: its names are at most 512 characters. */
const MAX_MESSAGE_BYTES = 16 * 1024;

const METHODS: Readonly<Record<'account' | 'keys' | 'key' | 'shares', Record<string, Handler>>> = {
  account: { GET: describeAccount },
  keys: { GET: listKeys, POST: createKey },
  key: { DELETE: revokeKey },
  shares: { GET: listShares, PUT: share, DELETE: unshare },
};

/** The answer to a request about users; undefined for any other address. */
export async function answerAccount(
  asked: AccountRequest,
  parts: AccountParts,
): Promise<Response | undefined> {
  const { path, principal, request } = asked;
  const methods = methodsOf(path);
  if (methods === undefined) return undefined;
  chooseVersion(request.headers.get(PROTOCOL_HEADER));
  const handler = methods[request.method === 'HEAD' ? 'GET' : request.method];
  if (handler === undefined) {
    const allow = Object.keys(methods).flatMap((name) => (name === 'GET' ? [name, 'HEAD'] : name));
    throw new QuarkError(
      'unsupported',
      `${request.method.slice(0, 20)} is not answered at this address.`,
      { details: { httpStatus: 405, allow: allow.join(', ') } },
    );
  }
  if (path !== SERVICE_ROUTES.account) checkScope(principal, 'admin');
  return plain(200, await handler(asked, parts));
}

/** An answer of the service itself, in the names of the wire; it is never kept. */
export function plain(status: number, body: object): Response {
  const headers = { ...HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store' };
  return new Response(`${JSON.stringify(body)}\n`, { status, headers });
}

function methodsOf(path: string): Record<string, Handler> | undefined {
  if (path === SERVICE_ROUTES.account) return METHODS.account;
  if (path === SERVICE_ROUTES.keys) return METHODS.keys;
  if (path === SERVICE_ROUTES.shares) return METHODS.shares;
  return keyIn(path) === undefined ? undefined : METHODS.key;
}

function keyIn(path: string): string | undefined {
  const prefix = `${SERVICE_ROUTES.keys}/`;
  const rest = path.startsWith(prefix) ? path.slice(prefix.length) : '';
  return rest === '' || rest.includes('/') ? undefined : rest;
}

async function describeAccount(
  { principal }: AccountRequest,
  { access }: AccountParts,
): Promise<object> {
  const { userName, keyId, scope } = principal;
  // Names of projects are keys of this answer, and stay as they are.
  const spaces = await access.listSpaces(principal);
  return { user: userName, key_id: keyId ?? null, scope, spaces };
}

async function listKeys({ principal }: AccountRequest, { own }: AccountParts): Promise<object> {
  return { keys: (await own.listKeys(principal)).map(keyMessage) };
}

async function createKey(
  asked: AccountRequest,
  { own, logger, usage }: AccountParts,
): Promise<object> {
  const { principal } = asked;
  const fields = await messageOf(asked, 'key', ['user', 'scope', 'label', 'expires_at_ms']);
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
  return { key: { ...keyMessage(made), key: made.key } };
}

async function revokeKey(
  { path, principal }: AccountRequest,
  { own, logger }: AccountParts,
): Promise<object> {
  const revoked = await own.revokeKey(principal, keyIn(path) ?? '');
  logger.info({ keyId: revoked.keyId, revokedBy: principal.keyId }, 'key revoked');
  return { key: keyMessage(revoked) };
}

async function listShares({ principal }: AccountRequest, { own }: AccountParts): Promise<object> {
  return { shares: (await own.listShares(principal)).map(shareMessage) };
}

async function share(asked: AccountRequest, { own, logger }: AccountParts): Promise<object> {
  const { principal } = asked;
  const fields = await messageOf(asked, 'share', ['owner', 'space', 'project', 'user', 'access']);
  checkOwner('owner', fields.get('owner'), principal);
  const given = fields.get('access') ?? 'read';
  const access: RunAccess = checkLiteral('access', given, ['read', 'write'] as const);
  const space = fields.get('space') === undefined ? DEFAULT_SPACE_NAME : fields.text('space');
  const wanted = { space, project: fields.text('project'), user: fields.text('user'), access };
  await own.share(principal, wanted);
  logger.info({ access, sharedBy: principal.keyId }, 'project shared');
  return { share: { owner: principal.userName, ...wanted } };
}

async function unshare(
  { principal, request }: AccountRequest,
  { own, logger }: AccountParts,
): Promise<object> {
  const query = new URL(request.url).searchParams;
  for (const name of new Set(query.keys()))
    if (!['owner', 'space', 'project', 'user'].includes(name) || query.getAll(name).length > 1)
      throw invalidInput('query', name, 'project, user and space, each once');
  const { owner, space, project = '', user = '' } = Object.fromEntries(query);
  checkOwner('owner', owner, principal);
  const wanted: OwnShare = { project, user, ...(space === undefined ? {} : { space }) };
  if (!(await own.unshare(principal, wanted)))
    throw new SessionStoreError('missing', 'There is no such share.', {
      details: { space: space ?? DEFAULT_SPACE_NAME, project, user },
    });
  logger.info({ unsharedBy: principal.keyId }, 'share taken back');
  return {};
}

/** The one field of the body. A name that is not known is refused: a key must not last for ever by a typing error. */
async function messageOf(
  { request, takeRoom }: AccountRequest,
  what: string,
  names: readonly string[],
): Promise<Fields> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    throw invalidInput('content-type', type ?? '', '"application/json"');
  const limits = {
    what: 'The body',
    packedBytes: MAX_MESSAGE_BYTES,
    bytes: MAX_MESSAGE_BYTES,
    takeRoom,
  };
  const given = new Fields('body', await readJson(request, limits)).get(what);
  const fields = new Fields(what, given);
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

type KeyMessage = {
  readonly key_id: string;
  readonly user: string;
  readonly scope: KeyScope;
  readonly label: string;
  readonly created_at_ms: number;
  readonly expires_at_ms: number | null;
  readonly revoked_at_ms: number | null;
};

function keyMessage(key: UserKey): KeyMessage {
  return {
    key_id: key.keyId,
    user: key.userName,
    scope: key.scope,
    label: key.label,
    created_at_ms: key.createdAtMs,
    expires_at_ms: key.expiresAtMs,
    revoked_at_ms: key.revokedAtMs,
  };
}

function shareMessage({
  ownerName,
  space,
  project,
  userName,
  access,
  createdAtMs,
}: ProjectShare): object {
  return { owner: ownerName, space, project, user: userName, access, created_at_ms: createdAtMs };
}
