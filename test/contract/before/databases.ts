/** Databases as JSON: what lies in IndexedDB, and in a SQLite file. */
import Database from 'libsql';

/** Bytes in JSON. */
type Bytes = { readonly $bytes: string };

type StoreDump = {
  readonly name: string;
  readonly keyPath: string | readonly string[] | null;
  readonly autoIncrement: boolean;
  readonly indexes: readonly {
    readonly name: string;
    readonly keyPath: string | readonly string[];
    readonly unique: boolean;
    readonly multiEntry: boolean;
  }[];
  readonly rows: readonly (readonly [key: unknown, value: unknown])[];
};

/** An IndexedDB database: its layout and its rows. */
export type DatabaseDump = { readonly version: number; readonly stores: readonly StoreDump[] };

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('failed')));
  });

const pathOf = (path: string | readonly string[]): string | string[] =>
  typeof path === 'string' ? path : [...path];

/** Reads a whole database of this name. */
export async function dumpDatabase(name: string): Promise<DatabaseDump> {
  const database = await done(indexedDB.open(name));
  const names = [...database.objectStoreNames];
  const transaction = database.transaction(names);
  const stores: StoreDump[] = [];
  for (const storeName of names) {
    const store = transaction.objectStore(storeName);
    const indexes = [...store.indexNames].map((indexName) => {
      const { keyPath, unique, multiEntry } = store.index(indexName);
      return { name: indexName, keyPath, unique, multiEntry };
    });
    const [keys, values] = [await done(store.getAllKeys()), await done<unknown[]>(store.getAll())];
    stores.push({
      name: storeName,
      keyPath: store.keyPath,
      autoIncrement: store.autoIncrement,
      indexes,
      rows: keys.map((key, at) => [pack(key), pack(values[at])] as const),
    });
  }
  database.close();
  return { version: database.version, stores };
}

/** Makes a database as it was when it was dumped. */
export async function restoreDatabase(name: string, dump: DatabaseDump): Promise<void> {
  const opening = indexedDB.open(name, dump.version);
  opening.addEventListener('upgradeneeded', () => {
    for (const { name: storeName, keyPath, autoIncrement, indexes } of dump.stores) {
      const store = opening.result.createObjectStore(storeName, {
        keyPath: keyPath === null ? null : pathOf(keyPath),
        autoIncrement,
      });
      for (const { name: indexName, keyPath: path, unique, multiEntry } of indexes)
        store.createIndex(indexName, pathOf(path), { unique, multiEntry });
    }
  });
  const database = await done(opening);
  for (const { name: storeName, keyPath, rows } of dump.stores) {
    const store = database.transaction(storeName, 'readwrite').objectStore(storeName);
    for (const [key, value] of rows)
      await done(
        keyPath === null
          ? store.put(unpack(value), unpack(key) as IDBValidKey)
          : store.put(unpack(value)),
      );
  }
  database.close();
}

/** Every table of a SQLite file: how it is declared, and its rows. */
export function dumpSqlite(path: string): Record<string, unknown> {
  const database = new Database(path, { readonly: true });
  const tables = database
    .prepare("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .all() as readonly { readonly name: string; readonly sql: string }[];
  const dump = Object.fromEntries(
    tables.map(({ name, sql }) => [
      name,
      /^CREATE TABLE/i.test(sql)
        ? { sql, rows: database.prepare(`SELECT * FROM "${name}"`).all().map(pack) }
        : { sql },
    ]),
  );
  database.close();
  return dump;
}

type TableDump = { readonly sql: string; readonly rows?: readonly Record<string, unknown>[] };

const COLUMN = /(?<=[,(]\s*)(\w+) (?:TEXT|BIGINT|DOUBLE PRECISION|BYTEA)\b[^,]*?(?:,\s*|(?=\)$))/g;

/** Columns of later layouts that a recording fills. */
const FILLED_LATER: Readonly<Record<string, readonly string[]>> = {
  blob_spaces: ['put_at_ms'],
  runs: ['indexed_revision'],
};

/**
 * A dump without what later layouts have added: tables, columns that hold nothing, and those of {@link FILLED_LATER}. Any other
 * column that holds something stays, and the comparison fails.
 */
export function withoutLater(dump: unknown, before: unknown): unknown {
  const known = before as Readonly<Record<string, TableDump>>;
  const found = dump as Readonly<Record<string, TableDump>>;
  const tables = Object.entries(found).filter(([name]) => name in known);
  return Object.fromEntries(
    tables.map(([name, { rows, sql }]) => {
      const expected = known[name];
      if (expected === undefined) return [name, { sql, rows }];
      if (rows === undefined) return [name, { sql }];
      if (name === 'quark_layout') return [name, expected];
      const isKnown = (column: string): boolean => new RegExp(`\\b${column}\\b`).test(expected.sql);
      const short = sql.replaceAll(COLUMN, (text, column: string) => (isKnown(column) ? text : ''));
      const columns = rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).filter(
            ([column, value]) =>
              isKnown(column) || (value !== null && FILLED_LATER[name]?.includes(column) !== true),
          ),
        ),
      );
      return [
        name,
        { sql: sameSpace(short) === sameSpace(expected.sql) ? expected.sql : short, rows: columns },
      ];
    }),
  );
}

function sameSpace(sql: string): string {
  return sql.replaceAll(/[\s,]+/g, ' ').replaceAll(' )', ')');
}

function pack(value: unknown): unknown {
  if (value instanceof Uint8Array || value instanceof ArrayBuffer)
    return {
      $bytes: Buffer.from(value instanceof ArrayBuffer ? new Uint8Array(value) : value).toString(
        'base64',
      ),
    } satisfies Bytes;
  if (Array.isArray(value)) return value.map(pack);
  if (value instanceof Blob) throw new Error('A blob cannot be dumped.');
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, pack(one)]));
  return value;
}

function unpack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value !== 'object' || value === null) return value;
  if ('$bytes' in value) return new Uint8Array(Buffer.from(String(value.$bytes), 'base64'));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unpack(one)]));
}
