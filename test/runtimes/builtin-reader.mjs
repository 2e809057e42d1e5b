// What tests use of the package `libsql`, on the SQLite of Node; see builtin-sqlite.mjs.
import { DatabaseSync } from 'node:sqlite';

/** libsql takes parameters as one array or one by one. */
const flat = (params) => (Array.isArray(params[0]) ? params[0] : params);

/** Bytes are a `Buffer` in libsql. */
const cell = (value) => (value instanceof Uint8Array ? Buffer.from(value) : value);
const row = (found) =>
  Array.isArray(found)
    ? found.map(cell)
    : Object.fromEntries(Object.entries(found).map(([name, value]) => [name, cell(value)]));

class Statement {
  #prepared;

  constructor(prepared) {
    this.#prepared = prepared;
  }

  get reader() {
    return this.#prepared.columns().length > 0;
  }

  raw(isOn = true) {
    this.#prepared.setReturnArrays(isOn);
    return this;
  }

  run(...params) {
    return this.#prepared.run(...flat(params));
  }

  get(...params) {
    const found = this.#prepared.get(...flat(params));
    return found === undefined ? undefined : row(found);
  }

  all(...params) {
    return this.#prepared.all(...flat(params)).map(row);
  }
}

export default class Database {
  #database;

  constructor(file, { readonly = false } = {}) {
    this.#database = new DatabaseSync(file, {
      readOnly: readonly,
      enableForeignKeyConstraints: false,
      defensive: false, // tests damage schemas
    });
  }

  exec(text) {
    this.#database.exec(text);
    return this;
  }

  prepare(text) {
    return new Statement(this.#database.prepare(text));
  }

  pragma(text) {
    return this.prepare(`PRAGMA ${text}`).all();
  }

  close() {
    this.#database.close();
  }
}

// For `require`.
export { Database as 'module.exports' };
