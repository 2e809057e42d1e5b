// Where PgBouncer is on this machine.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the program: `PGBOUNCER` names it, or it is searched for. undefined where there is none. */
export function findPgbouncer() {
  const given = process.env.PGBOUNCER;
  if (given !== undefined && given !== '') return given;
  // Debian keeps it where users have no path to.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'pgbouncer'))
    .find((path) => existsSync(path));
}
