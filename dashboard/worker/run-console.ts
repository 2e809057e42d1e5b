/** What a program printed, read in a worker: chunks are inflated and parsed there. */
import { openRun, type Store } from 'quark-sdk';
import { readConsole } from 'quark-sdk/console';
import { columnsOfLines, type ConsoleAnswer } from './console-columns.ts';

/** The last `limit` lines of `fromMs` or later. */
export async function readRunConsole(
  store: Store,
  runId: string,
  { fromMs, limit }: { readonly fromMs: number; readonly limit: number },
): Promise<ConsoleAnswer> {
  const { lines, ...rest } = await readConsole(await openRun(store, runId), { fromMs, limit });
  return { ...rest, columns: columnsOfLines(lines) };
}
