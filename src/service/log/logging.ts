/** What a service writes down of a request: enough to find a fault, and nothing that anybody could use. */
import { hideKeys } from '../access/user-key.ts';

/** Where log lines go. A `pino` logger is one. */
export interface ServiceLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** A log of nothing. */
export const SILENT_LOGGER: ServiceLogger = Object.freeze({
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
});

/** An error as a log line shows it: with its cause, cut to what a line can hold, and without keys. */
export function errorFields(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { message: clip(String(error)) };
  const { name, message, stack, cause } = error;
  return {
    name,
    ...('code' in error ? { code: clip(String(error.code)) } : {}),
    message: clip(message),
    ...(stack === undefined || depth > 0 ? {} : { stack: clip(stack) }),
    ...(cause === undefined || depth >= MAX_CAUSES ? {} : { cause: errorFields(cause, depth + 1) }),
  };
}

const MAX_CAUSES = 3;
const MAX_CHARS = 4_096;

function clip(text: string): string {
  const cut = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}...` : text;
  return hideKeys(cut);
}
