/** The address of a PostgreSQL database, split into parts for the driver, for the server, and for messages. */
import { invalidInput } from '../../../base/errors.ts';

/** Whether a pooler is in front of the server: to be detected, yes, no. */
export type PoolerChoice = 'auto' | 'yes' | 'no';

/** A parsed address. */
export type Address = {
  /** With the password, for the driver; without what {@link startup} and {@link settings} hold. */
  readonly connectionString: string;
  /** Without password and options. */
  readonly shown: string;
  /** Names the database in messages. */
  readonly name: string;
  /** Whether statements may be prepared by name. Undefined: only without a pooler. */
  readonly isPrepared: boolean | undefined;
  readonly pooler: PoolerChoice;
  /** The value of `options=`, unchanged. */
  readonly options: string;
  /** Time limits of sessions, in milliseconds, by the name of the setting. */
  readonly timeouts: ReadonlyMap<string, number>;
};

const SCHEMES: ReadonlySet<string> = new Set(['postgres:', 'postgresql:', 'cockroach:']);
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'cockroach:': '26257' };
/** What `pg` sends as parameters of a session when it finds them in an address. */
const TIMEOUTS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];

/**
 * Parses the address of a database.
 *
 * @throws {QuarkError} `invalid_input`, without the password
 */
export function parseAddress(uri: string): Address {
  const rule =
    'an address as "postgresql://USER:PASSWORD@HOST:PORT/DATABASE", special characters percent-encoded';
  let url: URL;
  try {
    url = new URL(uri);
  } catch {
    // Neither the address nor the error is shown: both may hold a password.
    throw invalidInput('storage', 'an address that cannot be read', rule);
  }
  if (!SCHEMES.has(url.protocol)) throw invalidInput('storage', url.protocol, rule);
  const isCockroach = url.protocol === 'cockroach:';
  const driver = new URL(`postgresql:${url.href.slice(url.protocol.length)}`);
  if (driver.port === '' && driver.hostname !== '') driver.port = DEFAULT_PORTS[url.protocol] ?? '';
  const isPrepared = takeSwitch(driver, 'prepare');
  const hasPooler = takeSwitch(driver, 'pooler');
  const options = driver.searchParams.get('options') ?? '';
  driver.searchParams.delete('options');
  const timeouts = takeTimeouts(driver);
  const shown = new URL(driver.href);
  shown.password = '';
  shown.search = '';
  shown.hash = '';
  const database = decodeURIComponent(shown.pathname.slice(1));
  const host = shown.host === '' ? 'the local server' : shown.host;
  return {
    connectionString: driver.href,
    shown: isCockroach ? `cockroach:${shown.href.slice('postgresql:'.length)}` : shown.href,
    name: `Database ${JSON.stringify(database)} at ${host}`,
    isPrepared,
    pooler: hasPooler === undefined ? 'auto' : hasPooler ? 'yes' : 'no',
    options,
    timeouts,
  };
}

function takeSwitch(url: URL, name: string): boolean | undefined {
  const value = url.searchParams.get(name);
  url.searchParams.delete(name);
  if (value === null) return undefined;
  if (value !== 'true' && value !== 'false') throw invalidInput(name, value, '"true" or "false"');
  return value === 'true';
}

function takeTimeouts(url: URL): ReadonlyMap<string, number> {
  const timeouts = new Map<string, number>();
  for (const name of TIMEOUTS) {
    const value = url.searchParams.get(name);
    url.searchParams.delete(name);
    if (value === null) continue;
    const ms = Number(value);
    if (value === '' || !Number.isInteger(ms) || ms < 0)
      throw invalidInput(name, value, 'a whole number of milliseconds; 0: no limit');
    timeouts.set(name, ms);
  }
  return timeouts;
}

/** Settings that `options` asks for (`-c NAME=VALUE`, `--NAME=VALUE`), and what else it says. */
export function parseOptions(options: string): {
  readonly settings: ReadonlyMap<string, string>;
  readonly rest: string;
} {
  const settings = new Map<string, string>();
  const rest: string[] = [];
  // A space that belongs to a value has a backslash before it.
  const words = options.match(/(?:\\.|\S)+/gs) ?? [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const text = word === '-c' ? words[++at] : /^(?:-c|--)(.+)$/s.exec(word)?.[1];
    const pair = /^([\w.-]+)=(.*)$/s.exec(text ?? '');
    if (pair === null) rest.push(...(word === '-c' ? [word, text ?? ''] : [word]));
    else
      settings.set(
        (pair[1] ?? '').replaceAll('-', '_'),
        (pair[2] ?? '').replaceAll(/\\(.)/gs, '$1'),
      );
  }
  return { settings, rest: rest.join(' ').trim() };
}

/** The statement that makes a setting hold until the end of the transaction. */
export function localSetting(name: string, value: string): string {
  const values = name === 'search_path' ? splitPath(value) : [value];
  // The default is for transactions that have not begun.
  const own = name === 'default_transaction_read_only' ? 'transaction_read_only' : name;
  return `SET LOCAL ${own} = ${values.map(literal).join(', ')}`;
}

/** The names of a search path: as they stand within quotes, in small letters without. */
function splitPath(path: string): readonly string[] {
  const parts = path.match(/(?:"(?:[^"]|"")*"|[^,])+/g) ?? [''];
  return parts.map((part) => {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*$/.exec(part)?.[1];
    return quoted === undefined ? part.trim().toLowerCase() : quoted.replaceAll('""', '"');
  });
}

/** Text as a literal, whatever the server takes backslashes for. */
function literal(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return text.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`;
}
