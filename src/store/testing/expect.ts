/** Expectations of the suite, so that it needs no library: values are compared deeply, and what differs is said. */

/** Stands for any value that `accepts` likes. */
class Matching {
  readonly accepts: (value: unknown) => boolean;
  readonly text: string;

  constructor(text: string, accepts: (value: unknown) => boolean) {
    this.text = text;
    this.accepts = accepts;
  }
}

/** What can be expected of a value. */
export type Expectation = {
  toBe(expected: unknown): void;
  /** Deeply; members that are undefined count as absent. */
  toEqual(expected: unknown): void;
  /** Deeply, and members that `expected` does not name are free. */
  toMatchObject(expected: unknown): void;
  toBeUndefined(): void;
  toHaveLength(length: number): void;
  toHaveProperty(name: string): void;
  toContain(item: unknown): void;
  toBeGreaterThan(other: number): void;
  toBeTypeOf(type: string): void;
  toMatch(pattern: RegExp): void;
  /** Of a function, or of what a promise rejected with: part of the message, or a pattern of it, or members of the error. */
  toThrow(expected?: string | RegExp | object): void;
};

type Later = {
  readonly [K in keyof Expectation]: (...args: Parameters<Expectation[K]>) => Promise<void>;
};

/** An expectation, its opposite, and that of what a promise rejects with. */
export type Expectations = Expectation & { readonly not: Expectation; readonly rejects: Later };

/**
 * What can be expected of a value.
 *
 * @param about what is said before the difference
 * @throws {Error} when it is not so
 */
export function expect(actual: unknown, about = ''): Expectations {
  return {
    ...expectationOf(actual, false, about),
    not: expectationOf(actual, true, about),
    rejects: laterOf(actual),
  };
}

/** An object with these members, among others. */
expect.objectContaining = (members: object): unknown =>
  new Matching(`an object with ${show(members)}`, (value) => isPart(value, members));

/** A text with this one in it. */
expect.stringContaining = (part: string): unknown =>
  new Matching(
    `a text with ${show(part)}`,
    (value) => typeof value === 'string' && value.includes(part),
  );

function expectationOf(actual: unknown, isOpposite: boolean, about = ''): Expectation {
  const check = (isSo: boolean, what: string, expected: unknown): void => {
    if (isSo !== isOpposite) return;
    const not = isOpposite ? 'not ' : '';
    throw new Error(
      `${about === '' ? '' : `${about}: `}Expected ${not}${what} ${show(expected)}; got ${show(actual)}.`,
    );
  };
  return {
    toBe: (expected) => check(Object.is(actual, expected), 'to be', expected),
    toEqual: (expected) => check(isEqual(actual, expected), 'to equal', expected),
    toMatchObject: (expected) => check(isPart(actual, expected), 'to match', expected),
    toBeUndefined: () => check(actual === undefined, 'to be', undefined),
    toHaveLength: (length) => check(memberOf(actual, 'length') === length, 'the length', length),
    toHaveProperty: (name) =>
      check(isObject(actual) && Reflect.has(actual, name), 'the property', name),
    toContain: (item) => check(Array.isArray(actual) && actual.includes(item), 'to contain', item),
    toBeGreaterThan: (other) => check(Number(actual) > other, 'more than', other),
    toBeTypeOf: (type) => check(typeof actual === type, 'the type', type),
    toMatch: (pattern) =>
      check(typeof actual === 'string' && pattern.test(actual), 'to match', String(pattern)),
    toThrow: (expected) => check(isThrown(thrownBy(actual), expected), 'to throw', expected),
  };
}

function laterOf(actual: unknown): Later {
  const error = async (): Promise<unknown> => {
    let result: unknown;
    try {
      result = await actual;
    } catch (reason) {
      return reason;
    }
    throw new Error(`Expected a promise to reject; it resolved with ${show(result)}.`);
  };
  const later =
    <K extends keyof Expectation>(name: K) =>
    async (...args: Parameters<Expectation[K]>): Promise<void> => {
      const reason = await error();
      const subject = name === 'toThrow' ? thrower(reason) : reason;
      Reflect.apply(expectationOf(subject, false)[name], undefined, args);
    };
  return {
    toBe: later('toBe'),
    toEqual: later('toEqual'),
    toMatchObject: later('toMatchObject'),
    toBeUndefined: later('toBeUndefined'),
    toHaveLength: later('toHaveLength'),
    toHaveProperty: later('toHaveProperty'),
    toContain: later('toContain'),
    toBeGreaterThan: later('toBeGreaterThan'),
    toBeTypeOf: later('toBeTypeOf'),
    toMatch: later('toMatch'),
    toThrow: later('toThrow'),
  };
}

const thrower = (reason: unknown) => (): never => {
  throw reason;
};

/** What a function throws, in an array; an empty one when it returns. */
function thrownBy(actual: unknown): readonly unknown[] {
  if (typeof actual !== 'function') return [];
  try {
    Reflect.apply(actual, undefined, []);
    return [];
  } catch (error) {
    return [error];
  }
}

function isThrown(thrown: readonly unknown[], expected: unknown): boolean {
  if (thrown.length === 0) return false;
  const message = String(memberOf(thrown[0], 'message'));
  if (typeof expected === 'string') return message.includes(expected);
  if (expected instanceof RegExp) return expected.test(message);
  return expected === undefined || isPart(thrown[0], expected);
}

function isEqual(actual: unknown, expected: unknown): boolean {
  if (expected instanceof Matching) return expected.accepts(actual);
  if (Object.is(actual, expected)) return true;
  if (!isObject(actual) || !isObject(expected)) return false;
  if (Array.isArray(actual) !== Array.isArray(expected)) return false;
  if (ArrayBuffer.isView(actual) || ArrayBuffer.isView(expected))
    return isSameView(actual, expected);
  const names = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  const lengths = [memberOf(actual, 'length'), memberOf(expected, 'length')];
  if (Array.isArray(actual) && lengths[0] !== lengths[1]) return false;
  return [...names].every((name) => isEqual(memberOf(actual, name), memberOf(expected, name)));
}

function isPart(actual: unknown, expected: unknown): boolean {
  if (!isObject(expected) || expected instanceof Matching || ArrayBuffer.isView(expected))
    return isEqual(actual, expected);
  if (!isObject(actual)) return false;
  if (Array.isArray(expected) && memberOf(actual, 'length') !== expected.length) return false;
  return Object.keys(expected).every((name) =>
    isPart(memberOf(actual, name), memberOf(expected, name)),
  );
}

function isSameView(actual: object, expected: object): boolean {
  if (!(actual instanceof Uint8Array) || !(expected instanceof Uint8Array)) return false;
  return actual.length === expected.length && actual.every((byte, i) => byte === expected[i]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) || typeof value === 'function' ? Reflect.get(value, name) : undefined;
}

const MAX_SHOWN_CHARS = 2000;

function show(value: unknown): string {
  if (value instanceof Matching) return value.text;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === 'function' || typeof value === 'undefined') return String(value);
  const text = JSON.stringify(value, (_name, one: unknown): unknown => {
    if (one instanceof Uint8Array) return `${one.length} bytes`;
    return one instanceof Matching ? one.text : one;
  });
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}...` : text;
}
