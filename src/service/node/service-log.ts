/** The log of a service: one JSON object a line, by `pino`. */
import { pino } from 'pino';
import { escapeInJson } from '../../base/control-characters.ts';
import { hideKeys } from '../access/user-key.ts';
import type { ServiceLogger } from '../log/logging.ts';

/** How much a service writes down. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const;

/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A logger that hands finished lines to `write`. No line holds more of a key than its name, or steers the terminal that shows it, whatever it was given. */
export function createServiceLog(level: LogLevel, write: (line: string) => void): ServiceLogger {
  return pino(
    {
      level,
      base: { service: 'quark', pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Nobody logs these; should somebody come to, they stay out all the same.
      redact: ['authorization', '*.authorization', 'headers', '*.headers', 'userKey', '*.userKey'],
    },
    { write: (line: string) => write(escapeInJson(hideKeys(line))) },
  );
}
