/** Sends what a worker prints to the thread that has the session. */
import { invalidInput } from '../../base/errors.ts';
import {
  CONSOLE_LEVELS,
  CONSOLE_SOURCES,
  type ConsoleLevel,
  type ConsoleSource,
} from './console-line.ts';
import { tapConsole } from './console-tap.ts';

/** What prints go through: a `Worker`, a `MessagePort`, a `BroadcastChannel`; in a worker also its global scope. */
export interface ConsolePort {
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  removeEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  /** Ports are started by it, workers have none. */
  start?(): void;
}

/** What a worker sends through. */
export interface ConsoleSender {
  postMessage(message: unknown): void;
}

/** A portion of text, as it is sent. */
type Print = {
  readonly text: string;
  readonly source: ConsoleSource;
  readonly level: ConsoleLevel | null;
};

/** Name of the messages among others of the worker. */
const MARK = 'quark-console';
/** Portions are sent together so often. */
const SEND_MS = 50;
/** Characters that wait before they are sent at once, and that a message may have. */
const SEND_CHARS = 1 << 20;

/**
 * In a worker: sends what it prints to a `captureConsole` in the page that has the session. Returns the undo, which sends what is left.
 *
 * @param port where to: in a worker of a page `globalThis`
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { TrainingSession } from 'quark-sdk';
 * import { captureConsole, forwardConsole } from 'quark-sdk/console';
 *
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const { port1, port2 } = new MessageChannel(); // in a page: the worker, and in it globalThis
 *   const capture = captureConsole(session, { own: false, from: [port1] });
 *   const stop = forwardConsole(port2); // in the worker
 *   console.log('from the worker');
 *   stop();
 *   while (capture.status.lines === 0) await new Promise((resolve) => setTimeout(resolve));
 *   await capture.stop();
 *   console.log(capture.status.lines); // 1
 *   port1.close();
 * });
 * ```
 */
export function forwardConsole(port: ConsoleSender): () => void {
  if (typeof port?.postMessage !== 'function')
    throw invalidInput('port', port, 'a worker scope or a port, with postMessage');
  let waiting: Print[] = [];
  let chars = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const send = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const prints = waiting;
    waiting = [];
    chars = 0;
    try {
      port.postMessage({ kind: MARK, prints });
    } catch {
      // The other end is gone: the worker goes on printing.
    }
  };
  const untap = tapConsole((text, source, level) => {
    waiting.push({ text, source, level });
    chars += text.length;
    if (chars > SEND_CHARS) send();
    else timer ??= setTimeout(send, SEND_MS);
  });
  return () => {
    untap();
    send();
  };
}

/** @throws {QuarkError} `invalid_input` */
export function checkConsolePort(field: string, port: unknown): void {
  if (typeof port !== 'object' || port === null || !('addEventListener' in port))
    throw invalidInput(field, port, 'a worker or a port');
}

/** Listens to what a worker sends; returns the undo. */
export function listenTo(port: ConsolePort, listener: (print: Print) => void): () => void {
  const receive = (event: { readonly data: unknown }): void => {
    for (const print of printsOf(event.data)) listener(print);
  };
  port.addEventListener('message', receive);
  port.start?.();
  return () => port.removeEventListener('message', receive);
}

/** What a message brings; nothing for messages of others. */
function printsOf(data: unknown): Print[] {
  if (typeof data !== 'object' || data === null || Reflect.get(data, 'kind') !== MARK) return [];
  const prints: unknown = Reflect.get(data, 'prints');
  if (!Array.isArray(prints)) return [];
  return prints.flatMap((print: unknown) => {
    if (typeof print !== 'object' || print === null) return [];
    const text: unknown = Reflect.get(print, 'text');
    const source = CONSOLE_SOURCES.find((one) => one === Reflect.get(print, 'source'));
    const level = CONSOLE_LEVELS.find((one) => one === Reflect.get(print, 'level')) ?? null;
    return typeof text === 'string' && source !== undefined ? [{ text, source, level }] : [];
  });
}
