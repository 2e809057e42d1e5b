/** Asks a worker to analyse a run: the one that imported it, or one of its own that opens the store once more. */
import type { Store } from 'quark-sdk';
import type { RunReport } from 'quark-sdk/analysis';
import type { ConsoleAnswer } from '../worker/console-columns.ts';
import type { RunAddress } from '../worker/protocol.ts';
import type { BatchFindings, RunAnalysis } from '../worker/run-analysis.ts';
import { configOfPage } from '../sources/sources.ts';
import { accessTo } from '../sources/server-access.ts';
import { droppedClient } from './dropped-files.ts';
import type { ImportClient } from '../worker/import-client.ts';
import { offeredClient } from '../worker/offered-clients.ts';
import { startWorker } from '../worker/start-worker.ts';
import { t } from '../parts/t.ts';

let own: ImportClient | undefined;

/** Analyses a run of this store. The page stays free meanwhile. */
export function analyzeInWorker(store: Store, runId: string): Promise<RunAnalysis> {
  const { client, run } = workerOf(store, runId);
  return client.analyze(run, configOfPage());
}

/** Looks in the batches of a run for what the hard ones have in common. */
export function findBatchesInWorker(store: Store, runId: string): Promise<BatchFindings> {
  const { client, run } = workerOf(store, runId);
  return client.findBatches(run);
}

/** The report of a run. */
export function reportInWorker(store: Store, runId: string): Promise<RunReport> {
  const { client, run } = workerOf(store, runId);
  return client.report(run, configOfPage());
}

/** What the program of a run printed: the last `limit` lines of this instant or later. */
export function readConsoleInWorker(
  store: Store,
  runId: string,
  limit: number,
  fromMs: number,
): Promise<ConsoleAnswer> {
  const { client, run } = workerOf(store, runId);
  return client.readConsole(run, limit, fromMs);
}

function workerOf(
  store: Store,
  runId: string,
): { readonly client: ImportClient; readonly run: RunAddress } {
  const holder = droppedClient(store) ?? offeredClient(store);
  if (holder !== undefined) return { client: holder, run: { uri: undefined, access: {}, runId } };
  own ??= startWorker('analysis:', t('The code that analyses runs cannot be loaded.'), () => {
    own = undefined;
  }).client;
  const access = accessTo(store.uri.replace(/\/$/, ''));
  return { client: own, run: { uri: store.uri, access, runId } };
}
