/** Asks a worker to analyse a run: the one that imported it, or one of its own that opens the store once more. */
import type { Store } from 'quark-sdk';
import type { BatchFindings, RunAnalysis } from '../worker/run-analysis.ts';
import { configOfPage } from '../sources/sources.ts';
import { accessTo, type ServerAccess } from '../sources/server-access.ts';
import { droppedClient } from './dropped-files.ts';
import type { ImportClient } from '../worker/import-client.ts';
import { startWorker } from '../worker/start-worker.ts';

let own: ImportClient | undefined;

/** Analyses a run of this store. The page stays free meanwhile. */
export function analyzeInWorker(store: Store, runId: string): Promise<RunAnalysis> {
  const { client, uri, access } = workerOf(store);
  return client.analyze(uri, runId, access, configOfPage());
}

/** Looks in the batches of a run for what the hard ones have in common. */
export function findBatchesInWorker(store: Store, runId: string): Promise<BatchFindings> {
  const { client, uri, access } = workerOf(store);
  return client.findBatches(uri, runId, access);
}

function workerOf(store: Store): {
  readonly client: ImportClient;
  readonly uri: string | undefined;
  readonly access: ServerAccess;
} {
  const holder = droppedClient(store);
  if (holder !== undefined) return { client: holder, uri: undefined, access: {} };
  own ??= startWorker('analysis:', 'The code that analyses runs cannot be loaded.', () => {
    own = undefined;
  }).client;
  return { client: own, uri: store.uri, access: accessTo(store.uri.replace(/\/$/, '')) };
}
