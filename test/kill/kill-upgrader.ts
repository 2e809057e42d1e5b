/**
 * A process that opens a database of an earlier layout, and so upgrades it: `PLACE [STATEMENT]`. With a number it kills itself
 * before that statement of the driver. Its first line comes when it is about to open; its last one says how many statements the
 * opening took.
 */
import { writeSync } from 'node:fs';
import pg from 'pg';
import { loadDriver } from '../../src/base/node/load-driver.ts';
import { openFileStorage } from '../../src/store/sql/node/file-storage.ts';
import { openPostgresStorage } from '../../src/store/sql/node/postgres-storage.ts';
import { nativePackages } from '../../src/store/sql/node/sqlite-native.ts';

const [place = '', fatal = '0'] = process.argv.slice(2);
let count = 0;

/** Calls a function before each call of the methods of an object. */
function before(target: object, names: readonly string[], act: () => void): void {
  for (const name of names) {
    const method: unknown = Reflect.get(target, name);
    if (typeof method !== 'function') throw new Error(`The driver has no ${name}.`);
    Reflect.set(target, name, function called(this: unknown, ...args: unknown[]): unknown {
      act();
      return Reflect.apply(method, this, args);
    });
  }
}

function countStatement(): void {
  if (++count === Number(fatal)) process.kill(process.pid, 'SIGKILL');
}

if (place.startsWith('postgresql:')) before(pg.Client.prototype, ['query'], countStatement);
else {
  // What `src/store/sql/node/sqlite-native.ts` calls: it takes the functions of this very module.
  const native = loadDriver((require): object => require(String(nativePackages()[0])));
  before(native, ['statementRun', 'statementGet', 'statementRowsSync'], countStatement);
}
writeSync(1, 'opening\n');
const store = await (place.startsWith('postgresql:') ? openPostgresStorage : openFileStorage)(
  place,
);
writeSync(1, `opened after ${count} statements\n`);
await store.close();
process.exit(0);
