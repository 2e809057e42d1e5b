/** The processes that answer queries, as Linux shows them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Whether this system shows processes. */
export const SHOWS_PROCESSES: boolean = existsSync('/proc/self/status');

/** The processes that `parent` started for queries and that have not ended. */
export function queryProcesses(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(
      (pid) =>
        statusOf(pid).includes(`\nPPid:\t${parent}\n`) &&
        !hasEnded(pid) &&
        textOf(`/proc/${pid}/cmdline`).startsWith('quark-query'),
    );
}

/** Whether a process has ended, though its parent may not have noticed. */
export function hasEnded(pid: number): boolean {
  const status = statusOf(pid);
  return status === '' || status.includes('\nState:\tZ');
}

/** Memory of the processes of `parent`: much of it says that DuckDB is in the middle of its work. */
export function residentMib(parent: number): number {
  return queryProcesses(parent).reduce(
    (sum, pid) => sum + Number(/VmRSS:\s+(\d+)/.exec(statusOf(pid))?.[1] ?? 0) / 1024,
    0,
  );
}

function statusOf(pid: number): string {
  return textOf(`/proc/${pid}/status`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
