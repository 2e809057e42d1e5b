// A server that a process of its own keeps for tests, and ends with whoever asked for it.
//
// The server works in a folder; its address is written to FOLDER/ready.json once it takes connections, or else what went
// wrong to FOLDER/failed.txt. When the watched process is gone, or the channel of a parent that forked this one, the server
// ends and the folder goes. A parent may send `{ kill: SIGNAL }`: the server is killed and started again, each told with a
// message.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

const LOG_LINES = 100;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A port of this machine that nobody uses at the moment. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** The last lines that a server has said. */
export class ServerLog {
  #lines = [];

  add = (line) => {
    this.#lines.push(String(line));
    if (this.#lines.length > LOG_LINES) this.#lines.shift();
  };

  get text() {
    return this.#lines.join('');
  }
}

/**
 * Keeps a server. `begin` makes what it needs in the folder and gives its address, `start` starts its process and gives
 * that once connections are taken; `start` is called again after each kill.
 */
export async function keepServer({ folder, watched, log, begin, start }) {
  let server;
  let isEnding = false;

  const stop = async (signal) => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const gone = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await gone;
  };
  const end = async () => {
    if (isEnding) return;
    isEnding = true;
    // Immediate for both of them: nothing is kept.
    await stop('SIGQUIT');
    await rm(folder, { recursive: true, force: true });
    process.exit(0);
  };
  const startAgain = async () => {
    const started = await start(() => isEnding);
    server = started;
    // It was asked to end meanwhile.
    if (isEnding) await stop('SIGQUIT');
  };
  const killAndRestart = async (signal) => {
    await stop(signal);
    process.send?.({ killed: signal });
    await startAgain();
    process.send?.({ ready: true });
  };
  const fail = async (error) => {
    const problem = `${error?.stack ?? error}`;
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'failed.txt'), `${problem}\n${log.text}`);
    process.send?.({ failed: problem });
    // Whoever waits reads it first.
    await pause(5000);
    await end();
  };

  process.on('disconnect', () => void end());
  process.on('message', (message) => void killAndRestart(message.kill).catch(fail));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void end());
  setInterval(() => {
    try {
      process.kill(watched, 0);
    } catch {
      void end();
    }
  }, 300);

  try {
    await mkdir(folder, { recursive: true });
    const uri = await begin();
    await startAgain();
    await writeFile(join(folder, 'ready.draft'), JSON.stringify({ uri }));
    await rename(join(folder, 'ready.draft'), join(folder, 'ready.json'));
    process.send?.({ ready: true, uri });
  } catch (error) {
    await fail(error);
  }
}
