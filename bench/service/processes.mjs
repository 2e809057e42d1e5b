// The service as a process of its own, and a PostgreSQL server.
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../test/support/bundle.mjs';
import { findPgbouncer } from '../../test/support/pgbouncer-program.mjs';
import { serversFolder } from '../../test/support/postgres-place.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A folder on the disk of the repository (temporary folders are often in memory), and the bundled programs in it. */
export async function workplace() {
  await mkdir(join(ROOT, 'build'), { recursive: true });
  const root = await mkdtemp(join(ROOT, 'build', 'bench-service-'));
  const program = await bundle('bench/service/service-program.ts', {
    folder: join(root, 'service'),
  });
  const parts = await import(
    await bundle('bench/service/bench-parts.ts', { folder: join(root, 'parts') })
  );
  return { root, program, parts, remove: () => rm(root, { recursive: true, force: true }) };
}

const said = (child, field) =>
  new Promise((resolve, reject) => {
    const listen = (message) => {
      if (!(field in message)) return;
      child.off('message', listen);
      child.off('exit', end);
      resolve(message);
    };
    child.on('message', listen);
    const end = (code) => reject(new Error(`the process ended (${code})`));
    child.once('exit', end);
  });

/** Starts the service over a storage; `stats` says what it takes. */
export async function startService(program, options) {
  const child = fork(program, [JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { uri, keys } = await said(child, 'uri');
  return {
    uri,
    keys,
    async stats() {
      const stats = said(child, 'memory');
      child.send({});
      return stats;
    },
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The server of `DATABASE_URL`, or one of our own; undefined, with a line that says so, where there is none. */
export async function startPostgres() {
  const given = process.env.DATABASE_URL;
  if (given) return { uri: given, stop: async () => undefined };
  return startKept('PostgreSQL', 'postgres-process.mjs', ['durable']);
}

/** A PgBouncer in front of a server, in transaction mode; undefined, with a line that says so, where there is none. */
export async function startPooler(server) {
  if (findPgbouncer() !== undefined)
    return startKept('PgBouncer', 'pgbouncer-process.mjs', [server.uri]);
  console.log('PgBouncer is left out: it is not installed.');
  return undefined;
}

async function startKept(name, program, args) {
  const folder = join(serversFolder(), `bench-${randomUUID()}`);
  const child = fork(join(ROOT, 'test/support', program), [folder, String(process.pid), ...args], {
    stdio: 'ignore',
  });
  try {
    const answer = await Promise.race([said(child, 'uri'), said(child, 'failed')]);
    if (answer.failed) throw new Error(answer.failed);
    return {
      uri: answer.uri,
      /** Kills it, and waits until it has started again. */
      async kill(signal) {
        const ready = said(child, 'ready');
        child.send({ kill: signal });
        await ready;
      },
      async stop() {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.disconnect();
        await ended;
      },
    };
  } catch (error) {
    console.log(`${name} is left out: ${String(error).split('\n')[0]}`);
    return undefined;
  }
}
