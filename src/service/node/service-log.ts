/** The log of a service: one JSON object a line, with the names and the order of `pino`. */
import { escapeInJson } from '../../base/texts/control-characters.ts';
import { hideKeys } from '../access/user-key.ts';
import type { ServiceLogger } from '../log/logging.ts';

/** How much a service writes down. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields that are never shown, at the top and one level below: nobody logs these; should somebody come to, they stay out all the same. */
const HIDDEN = new Set(['authorization', 'headers', 'userKey']);

/**
 * A logger of a service that hands finished lines, a JSON object each, to `write`. No line holds more of a key than its name, or steers the terminal that shows it, whatever it was given.
 *
 * @example
 * ```js
 * import { createServiceLog, serveService } from 'quark-sdk/service';
 *
 * const lines = [];
 * const logger = createServiceLog('info', (line) => lines.push(line)); // one JSON object a line
 * const service = await serveService({ storage: 'quark-runs', logger });
 * await fetch(service.url);
 * await service.close();
 * console.log(lines.length > 0, typeof JSON.parse(lines[0])); // true object
 * ```
 */
export function createServiceLog(level: LogLevel, write: (line: string) => void): ServiceLogger {
  const line =
    (of: Exclude<LogLevel, 'silent'>) =>
    (fields: object, message: string): void => {
      if (LOG_LEVELS.indexOf(of) > LOG_LEVELS.indexOf(level)) return;
      const head = {
        level: of,
        time: new Date().toISOString(),
        service: 'quark',
        pid: process.pid,
      };
      const text = asJson(
        { ...head, ...hidden(fields, 1), msg: message },
        { ...head, msg: message },
      );
      write(escapeInJson(hideKeys(`${text}\n`)));
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

/** The fields without those of {@link HIDDEN}, at this level and so many below. */
function hidden(fields: object, below: number): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      if (HIDDEN.has(name)) return [name, '[Redacted]'];
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      if (!isObject || below === 0 || 'toJSON' in value) return [name, value];
      return [name, hidden(value, below - 1)];
    }),
  );
}

/** A line never fails its request: of fields that JSON cannot have, there is only that they were there. */
function asJson(fields: object, without: object): string {
  try {
    return JSON.stringify(fields, (_name, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
  } catch {
    return JSON.stringify({ ...without, fields: '[not JSON]' });
  }
}
