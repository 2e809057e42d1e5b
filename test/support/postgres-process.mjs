// A process that keeps a PostgreSQL server for tests: see kept-server.mjs.
//
//   node test/support/postgres-process.mjs FOLDER WATCHED_PID [durable]
//
// The server's data lie in FOLDER/data. With "durable" commits wait for the disk; without, only the end of the processes
// is survived, not of the machine.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { platform } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { freePort, keepServer, pause, ServerLog } from './kept-server.mjs';
import { postgresPackage } from './postgres-place.mjs';

const [folder = '', watched = '', mode = ''] = process.argv.slice(2);
const log = new ServerLog();
let server;

/** npm may have been told to run no scripts of packages: then the links among the server's libraries are missing. */
function makeLinks(root) {
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = join(root, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(link), join(root, source)), link);
    } catch (error) {
      // Another process was quicker.
      if (error.code !== 'EEXIST') throw error;
    }
  }
}

async function begin() {
  const { entry, native } = postgresPackage();
  makeLinks(native);
  const { default: EmbeddedPostgres } = await import(entry);
  const port = await freePort();
  const password = Math.random().toString(36).slice(2);
  server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'quark',
    password,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // A language whose order of text is not that of bytes, so that tests would notice.
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en-US'],
    postgresFlags: Object.entries({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      shared_buffers: '64MB',
      ...(mode === 'durable' ? {} : { fsync: 'off', full_page_writes: 'off' }),
      // After a crash: one call for the file system, not one for each of a thousand files.
      ...(platform() === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: log.add,
    onError: log.add,
  });
  await server.initialise();
  return `postgresql://quark:${password}@127.0.0.1:${port}/postgres`;
}

/** Starts the server; right after a kill its old processes may still hold the memory they share. */
async function start(isEnding) {
  for (let attempt = 0; ; attempt++) {
    try {
      await server.start();
      return server.process;
    } catch {
      if (isEnding() || attempt === 100) throw new Error(`PostgreSQL did not start:\n${log.text}`);
      await pause(100);
    }
  }
}

await keepServer({ folder, watched: Number(watched), log, begin, start });
