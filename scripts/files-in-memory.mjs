// Temporary files of the tests in memory: they write thousands of databases and profiles of browsers, and wait for the disk else.
// No test cuts the power of the machine: what a killed process has written is there in memory as on a disk.
import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
const PREFIX = 'quark-tests-';
/** A whole run has at most a fifth of it at a time. */
const NEEDED_BYTES = 4 * 2 ** 30;

/** Sets the folder for temporary files of this process and of those it starts, where nobody has named one and memory suffices. */
export function filesInMemory() {
  if (process.env.TMPDIR || process.platform !== 'linux' || !hasRoom()) return;
  removeLeftovers();
  const folder = join(MEMORY, `${PREFIX}${process.pid}`);
  mkdirSync(folder);
  // As /tmp is: some servers run as another user.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  process.on('exit', () => remove(folder));
}

/** Removes a folder. One in which a killed test has left a file system mounted stays: that is no reason not to run the tests. */
function remove(folder) {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    console.warn(`${folder} cannot be removed (${error.code}). Unmount what is mounted there.`);
  }
}

function hasRoom() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) >= NEEDED_BYTES;
  } catch {
    return false;
  }
}

/** Folders of runs that were killed. */
function removeLeftovers() {
  for (const name of readdirSync(MEMORY))
    if (name.startsWith(PREFIX) && !isRunning(Number(name.slice(PREFIX.length))))
      remove(join(MEMORY, name));
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
