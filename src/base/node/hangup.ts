/** A process that was told to outlive its terminal, as by `nohup`. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** Bit of SIGHUP, signal 1, in the masks of /proc. */
const HANGUP_BIT = 1n;
/** Lowest two bits of the flags of an open file: 1 is "only written". */
const ACCESS_MODE = 3;
const WRITE_ONLY = 1;

/** Found once: where the mask says it, listening to the signal changes the mask. */
let isIgnored: boolean | undefined;

/**
 * Lets this process outlive its terminal where it was told to: Node would end by SIGHUP, though it began with the signal ignored.
 *
 * @returns what ends that; undefined where the signal is to end the process as ever
 */
export function outliveTerminal(): (() => void) | undefined {
  isIgnored ??= isHangupIgnored();
  if (!isIgnored) return undefined;
  const goOn = (): void => undefined;
  process.on('SIGHUP', goOn);
  return () => void process.off('SIGHUP', goOn);
}

/**
 * Whether SIGHUP was ignored when this process began, as `nohup` and `trap '' HUP` have it. Node takes an ignored SIGHUP back at its
 * start (seen with 20, 22 and 24), so that the mask of the process says so in other runtimes only. What remains in Node: `nohup` as the command
 * that the shell has named in `_`, a standard input that `nohup` has closed (/dev/null, open for writing), and a parent that ignores the
 * signal, such as a script under `nohup`.
 */
function isHangupIgnored(): boolean {
  if (process.platform === 'win32') return false;
  return (
    ignoresHangup('self') ||
    basename(process.env['_'] ?? '') === 'nohup' ||
    isInputClosedByNohup() ||
    // A process whose parent has ended belongs to process 1, which says nothing about it.
    (process.ppid > 1 && ignoresHangup(process.ppid))
  );
}

function ignoresHangup(of: 'self' | number): boolean {
  const mask = /^SigIgn:\s*([\da-f]+)$/im.exec(textOf(`/proc/${of}/status`))?.[1];
  return mask !== undefined && (BigInt(`0x${mask}`) & HANGUP_BIT) !== 0n;
}

function isInputClosedByNohup(): boolean {
  const flags = /^flags:\s*([0-7]+)$/m.exec(textOf('/proc/self/fdinfo/0'))?.[1];
  // Another program would have no use for such an input.
  return flags !== undefined && (Number.parseInt(flags, 8) & ACCESS_MODE) === WRITE_ONLY;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Not Linux, or another user's process.
    return '';
  }
}
