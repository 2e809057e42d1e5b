/** What a line of the table of routes is made of: parameters, bodies, answers, and who may ask. */
import { checkCount, checkInstant, checkLiteral, checkPositive } from '../base/assert.ts';
import { checkCondition } from '../records/shapes/run-condition.ts';
import {
  BYTES_MEDIA_TYPE,
  JSON_MEDIA_TYPE,
  MAX_QUESTION_BYTES,
  MAX_RUN_MESSAGE_BYTES,
  UPLOAD_MEDIA_TYPE,
} from './protocol.ts';
import { list, object, type Schema } from './schemas.ts';

/** What answers a route: a store of the caller, the list of users and keys, or the process itself. */
export type RouteGroup = 'store' | 'account' | 'service';

/**
 * Who may ask. `read`: any key; `write`, `delete` and `admin`: keys of a scope that contains it; `machine`: a key of scope
 * `admin`, or a program of the same machine; `none`: anybody.
 */
export type RouteScope = 'none' | 'read' | 'write' | 'delete' | 'admin' | 'machine';

/**
 * How an answer leaves: `at_once`; in `parts` that are read from the store while it is sent; or as a `stream` that stays open.
 * Access is checked again while parts and streams are sent, and the number of streams is limited.
 */
export type Sending = 'at_once' | 'parts' | 'stream';

/** A parameter of a query string or a header: its check and its description. */
export type Parameter<T = unknown> = {
  /** @throws {QuarkError} `invalid_input` */
  readonly read: (name: string, text: string) => T;
  readonly schema: Schema;
  readonly description?: string;
  readonly isRequired?: boolean;
};

/** A parameter that may be given several times. */
export type Repeated = Parameter<string> & { readonly isRepeated: true };

/** Parameters by their names in code; on the wire they are in snake_case. */
export type QueryRules = Readonly<Record<string, Parameter | Repeated>>;

/** Schemas by media type. */
export type Content = { readonly [mediaType: string]: Schema };

/** The body of a request: `json` is read as `Fields`, `bytes` as they are. */
export type RequestBody<K extends 'json' | 'bytes' = 'json' | 'bytes'> = {
  readonly kind: K;
  readonly content: Content;
  /** Names the body in messages. */
  readonly what: string;
  /** A number of bytes, or the limit of the service that gives it. `packed` is the limit as sent. */
  readonly maxBytes: BodyLimit;
  readonly maxPackedBytes: BodyLimit;
  /**
   * A page of another origin can send what a form can send, without asking first. It cannot send these types, so that a service
   * without keys on this machine is safe from pages that guess its address.
   */
  readonly isTypeChecked: boolean;
};

/** See {@link RequestBody}. */
export type BodyLimit = number | 'maxUploadBytes' | 'maxBlobBytes';

/** An answer with its description. */
export type Answer = { readonly description: string; readonly content: Content };

/** A route: one line of the table. */
export type Route = {
  readonly group: RouteGroup;
  readonly scope: RouteScope;
  /** The `operationId` of OpenAPI. */
  readonly id: string;
  readonly summary: string;
  readonly query?: QueryRules;
  /** Whether a query may have parameters that the route checks itself. */
  readonly hasOtherParameters?: boolean;
  readonly headers?: QueryRules;
  readonly body?: RequestBody;
  /** By status. */
  readonly answers: Readonly<Record<string, Answer>>;
  /** Whether one range of the body can be asked for. */
  readonly hasRanges?: boolean;
  readonly sends?: Sending;
};

type Options = Partial<
  Pick<Route, 'query' | 'hasOtherParameters' | 'headers' | 'body' | 'hasRanges' | 'sends'>
>;

type Made<G extends RouteGroup, O> = O &
  Pick<Route, 'scope' | 'id' | 'summary' | 'answers'> & { readonly group: G };

/** Makes the routes of a group and a scope. `answer` is that of status 200, or answers by status. */
type Maker<G extends RouteGroup> = {
  (id: string, summary: string, answer: Content | Route['answers']): Made<G, object>;
  <const O extends Options>(
    id: string,
    summary: string,
    answer: Content | Route['answers'],
    options: O,
  ): Made<G, O>;
};

function maker<G extends RouteGroup>(group: G, scope: RouteScope): Maker<G> {
  return (
    id: string,
    summary: string,
    answer: Content | Route['answers'],
    options: Options = {},
  ): Made<G, Options> => {
    const answers = isByStatus(answer)
      ? answer
      : { '200': { description: 'Done.', content: answer } };
    return { ...options, group, scope, id, summary, answers };
  };
}

/** Whether a route changes a store. */
export function changesStore({ group, scope }: Pick<Route, 'group' | 'scope'>): boolean {
  return group === 'store' && ['write', 'delete', 'admin'].includes(scope);
}

function isByStatus(answer: Content | Route['answers']): answer is Route['answers'] {
  return Object.hasOwn(answer, '200');
}

/** A route that reads the store of the space that a request names. */
export const read: Maker<'store'> = maker('store', 'read');

/** A route that changes that store. */
export const write: Maker<'store'> = maker('store', 'write');

/** A route that deletes, archives or restores what is in that store. */
export const remove: Maker<'store'> = maker('store', 'delete');

/** A route that removes from that store for good. */
export const purge: Maker<'store'> = maker('store', 'admin');

/** A route about the keys and shares of the user who asks. */
export const admin: Maker<'account'> = maker('account', 'admin');

/** A route that removes what belongs to the user who asks. */
export const removeOwn: Maker<'account'> = maker('account', 'delete');

/** A route about the user who asks. */
export const account: Maker<'account'> = maker('account', 'read');

/** A route about the process, outside the path of the API, for anybody; and one that says more of it. */
export const open: Maker<'service'> = maker('service', 'none');
export const machine: Maker<'service'> = maker('service', 'machine');

export const text: Schema = { type: 'string' };
export const number: Schema = { type: 'number' };
export const count: Schema = { type: 'integer', minimum: 0 };
export const bytes: Schema = { type: 'string', format: 'binary' };

/** Where the next page of a list begins. */
export const next: Schema = {
  type: ['integer', 'null'],
  description: 'The `offset` of the next page.',
};

/** JSON with these fields. */
export function json(fields: Parameters<typeof object>[0] = {}): Content {
  return jsonOf(object(fields));
}

/** JSON of this schema. */
export function jsonOf(schema: Schema): Content {
  return { [JSON_MEDIA_TYPE]: schema };
}

/** The body of a change. */
export function message(
  content: Content,
  maxBytes = MAX_RUN_MESSAGE_BYTES,
  maxPackedBytes = MAX_QUESTION_BYTES,
): RequestBody<'json'> {
  return { kind: 'json', content, what: 'The body', maxBytes, maxPackedBytes, isTypeChecked: true };
}

/** The body of a request that changes nothing. */
export function question(content: Content): RequestBody<'json'> {
  return { ...message(content, MAX_QUESTION_BYTES), isTypeChecked: false };
}

/** Segments: see `upload.ts`. */
export const upload: RequestBody<'bytes'> = {
  kind: 'bytes',
  content: { [UPLOAD_MEDIA_TYPE]: bytes },
  what: 'An upload',
  maxBytes: 'maxUploadBytes',
  maxPackedBytes: 'maxUploadBytes',
  isTypeChecked: true,
};

/** A blob. Its name is its hash, which no page guesses. */
export const blob: RequestBody<'bytes'> = {
  kind: 'bytes',
  content: { [BYTES_MEDIA_TYPE]: bytes },
  what: 'A blob',
  maxBytes: 'maxBlobBytes',
  maxPackedBytes: 'maxBlobBytes',
  isTypeChecked: false,
};

/** Digits as a number; anything else as it is, for a check to refuse. */
function digits(given: string): unknown {
  return /^\d{1,16}$/.test(given) ? Number(given) : given;
}

/** A text. */
export function textOf(description?: string, isRequired = false): Parameter<string> {
  const about = description === undefined ? {} : { description };
  return { read: (_name, given) => given, schema: text, isRequired, ...about };
}

/** A text that may be given several times. */
export function repeated(description: string): Repeated {
  return { ...textOf(description), schema: list(text), isRepeated: true };
}

/** A condition on runs. */
export function conditionOf(): Parameter<string> {
  const description =
    'A condition on what runs are found by, as JSON: ["lte","config.lr",0.1], ["eq",PATH,VALUE], ["in",PATH,...VALUES], ["exists",PATH], ["like",PATH,PATTERN], ["not",C], ["and",C,...], ["or",C,...].';
  return { ...textOf(description), read: checkCondition };
}

/** An integer from 0 on. */
export function countOf(description: string, schema: Schema = count): Parameter<number> {
  return { read: (name, given) => checkCount(name, digits(given)), schema, description };
}

/** 1 for yes. */
export function switchOf(description: string): Parameter<number> {
  return countOf(description, { ...count, maximum: 1 });
}

/** An integer from 1 on. */
export function positiveOf(description: string): Parameter<number> {
  const schema = { ...count, minimum: 1 };
  return { read: (name, given) => checkPositive(name, digits(given)), schema, description };
}

/** A number. What is none is the store's to refuse. */
export function numberOf(description: string): Parameter<number> {
  const toNumber = (_name: string, given: string): number =>
    given.trim() === '' ? Number.NaN : Number(given);
  return { read: toNumber, schema: number, description };
}

/** Epoch milliseconds, or a date in ISO 8601. */
export function instantOf(description: string): Parameter<number> {
  const toInstant = (name: string, given: string): number =>
    checkInstant(name, /^-?\d+(?:\.\d+)?$/.test(given) ? Number(given) : given);
  return { read: toInstant, schema: text, description };
}

/** `true` or `false`. */
export function flagOf(description: string): Parameter<boolean> {
  const toFlag = (name: string, given: string): boolean =>
    checkLiteral(name, given, ['true', 'false']) === 'true';
  return { read: toFlag, schema: { type: 'boolean' }, description };
}

/** One of a list of texts. */
export function oneOf<const L extends string>(
  known: readonly L[],
  description: string,
): Parameter<L> {
  const schema = { enum: known };
  return { read: (name, given) => checkLiteral(name, given, known), schema, description };
}
