// A process that keeps a PgBouncer for tests in front of a PostgreSQL server: see kept-server.mjs.
//
//   node test/support/pgbouncer-process.mjs FOLDER WATCHED_PID SERVER_URI [SETTINGS]
//
// Its settings are its defaults, but for the pool mode (transaction) and what SETTINGS, a JSON object, changes.
import { execFileSync, spawn } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort, keepServer, pause, ServerLog } from './kept-server.mjs';
import { findPgbouncer } from './pgbouncer-program.mjs';

const [folder = '', watched = '', serverUri = '', settings = '{}'] = process.argv.slice(2);
const server = new URL(serverUri);
const log = new ServerLog();
let port = 0;

async function begin() {
  port = await freePort();
  const config = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_file: join(folder, 'users.txt'),
    admin_users: server.username,
    pool_mode: 'transaction',
    ...JSON.parse(settings),
  };
  const lines = Object.entries(config).map(([name, value]) => `${name} = ${value}`);
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]\n* = host=${server.hostname} port=${server.port}\n[pgbouncer]\n${lines.join('\n')}\n`,
  );
  await writeFile(join(folder, 'users.txt'), `"${server.username}" "${server.password}"\n`);
  const uri = new URL(server);
  uri.port = String(port);
  return uri.href;
}

/** As root it refuses to run: then it runs as a user without rights, who can enter the folder. */
async function user() {
  if (process.getuid?.() !== 0) return {};
  await chmod(folder, 0o755);
  const id = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function listens() {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

async function start() {
  const pooler = spawn(findPgbouncer(), [join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(await user()),
  });
  for (const stream of [pooler.stdout, pooler.stderr]) stream.on('data', log.add);
  let failure;
  pooler.on('error', (error) => {
    failure = error;
  });
  while (!(await listens())) {
    if (failure !== undefined) throw failure;
    if (pooler.exitCode !== null) throw new Error(`PgBouncer did not start:\n${log.text}`);
    await pause(20);
  }
  return pooler;
}

await keepServer({ folder, watched: Number(watched), log, begin, start });
