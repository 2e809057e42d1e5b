/**
 * Listens to what the program prints: to `console`, and in Node to the streams below it. Everything is printed as before, and the last
 * listener that leaves restores what was there. There is one tap a module, for any number of captures.
 */
import { isNode } from '../../base/runtime.ts';
import type { ConsoleLevel, ConsoleSource } from './console-line.ts';
import { formatArguments } from './format-arguments.ts';

/** Gets what is printed, in portions of any size. Must not throw. */
export type PrintListener = (
  text: string,
  source: ConsoleSource,
  level: ConsoleLevel | null,
) => void;

const METHODS: Readonly<Record<string, ConsoleLevel>> = {
  debug: 'debug',
  log: 'log',
  info: 'info',
  warn: 'warn',
  error: 'error',
};
/** Methods that a page's console prints by itself; those of Node call the ones above. */
const PAGE_METHODS: Readonly<Record<string, ConsoleLevel>> = {
  ...METHODS,
  trace: 'debug',
  dir: 'log',
  table: 'log',
  group: 'log',
  assert: 'error',
};

type Printer = (...args: unknown[]) => unknown;

const listeners = new Set<PrintListener>();
let undo: (() => void)[] = [];
/** Method of `console` that is being called. */
let level: ConsoleLevel | null = null;
/** Portions that streams have got so far. */
let writes = 0;
/** Whether a listener runs: what it prints itself is not captured. */
let isInside = false;

/** Adds a listener; returns the undo. */
export function tapConsole(listener: PrintListener): () => void {
  listeners.add(listener);
  if (listeners.size === 1) begin();
  return () => {
    if (!listeners.delete(listener) || listeners.size > 0) return;
    for (const restore of undo.splice(0)) restore();
  };
}

function begin(): void {
  undo = [];
  const hasStreams = isNode();
  const methods = hasStreams ? METHODS : PAGE_METHODS;
  for (const [name, of] of Object.entries(methods)) {
    const restore = replace(globalThis.console, name, (original) =>
      consoleMethod(original, name, of),
    );
    if (restore !== undefined) undo.push(restore);
  }
  if (!hasStreams) return;
  for (const source of ['stdout', 'stderr'] as const) {
    const stream: object = globalThis.process[source];
    const restore = replace(stream, 'write', (original) => streamWrite(original, source));
    if (restore !== undefined) undo.push(restore);
  }
}

/** Replaces a method; the undo leaves it where somebody else has replaced it since, and it only passes calls on then. */
function replace(
  owner: object,
  name: string,
  make: (original: Printer) => Printer,
): (() => void) | undefined {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') return undefined;
  const made = make((...args) => Reflect.apply(original, owner, args));
  Object.defineProperty(made, 'name', { value: name });
  const descriptor = {
    value: made,
    configurable: true,
    enumerable: before?.enumerable ?? true,
    writable: true,
  };
  if (!Reflect.defineProperty(owner, name, descriptor)) return undefined;
  return () => {
    if (Reflect.get(owner, name) !== made) return;
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Reflect.defineProperty(owner, name, before);
  };
}

function consoleMethod(original: Printer, name: string, of: ConsoleLevel): Printer {
  return (...args) => {
    if (listeners.size === 0 || isInside) return original(...args);
    const before = level;
    const written = writes;
    level = of;
    try {
      return original(...args);
    } finally {
      level = before;
      // A console that writes to no stream of the process: a page's, or one that was replaced.
      if (writes === written) printed(args, name, of);
    }
  };
}

function printed(args: readonly unknown[], name: string, of: ConsoleLevel): void {
  if (name === 'assert' && args[0] === true) return;
  pass(
    () =>
      `${formatArguments(name === 'assert' ? ['Assertion failed:', ...args.slice(1)] : args)}\n`,
    'console',
    of,
  );
}

function streamWrite(original: Printer, source: 'stdout' | 'stderr'): Printer {
  let decoder: TextDecoder | undefined;
  return (...args) => {
    writes++;
    if (listeners.size > 0 && !isInside) {
      const [chunk, encoding] = args;
      pass(
        () => {
          if (typeof chunk === 'string') return textOf(chunk, encoding);
          if (!(chunk instanceof Uint8Array)) return '';
          decoder ??= new TextDecoder();
          return decoder.decode(chunk, { stream: true });
        },
        source,
        level,
      );
    }
    return original(...args);
  };
}

/** Text whose encoding says that it stands for bytes is decoded as the stream would. */
function textOf(chunk: string, encoding: unknown): string {
  if (typeof encoding !== 'string' || /^utf-?8$/i.test(encoding)) return chunk;
  return /^(?:hex|base64|base64url)$/.test(encoding)
    ? globalThis.Buffer.from(chunk, encoding === 'hex' ? 'hex' : 'base64').toString('utf8')
    : chunk;
}

function pass(text: () => string, source: ConsoleSource, of: ConsoleLevel | null): void {
  isInside = true;
  try {
    const given = text();
    for (const listener of listeners) listener(given, source, of);
  } catch {
    // What cannot be read is not captured; the program goes on as without a capture.
  } finally {
    isInside = false;
  }
}
