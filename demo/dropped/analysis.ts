/** Asks a worker to analyse a run: the one that holds it, or one of its own that opens the store once more. */
import type { Store } from 'quark-sdk';
import type { RunAnalysis } from '../dashboard/model/run-analysis.ts';
import { accessTo } from '../app/server-access.ts';
import { droppedClient } from './dropped-files.ts';
import { ImportClient } from './import-client.ts';

let own: ImportClient | undefined;

/** Analyses a run of this store. The page stays free meanwhile. */
export function analyzeInWorker(store: Store, runId: string): Promise<RunAnalysis> {
  const holder = droppedClient(store);
  if (holder !== undefined) return holder.analyze(undefined, runId);
  own ??= started();
  return own.analyze(store.uri, runId, accessTo(store.uri.replace(/\/$/, '')));
}

function started(): ImportClient {
  const worker = new Worker(new URL('./import-worker.ts', import.meta.url), { type: 'module' });
  const client = new ImportClient(worker, 'analysis:');
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    client.fail(new Error(event.message || 'The code that analyses runs cannot be loaded.'));
    own = undefined;
  });
  return client;
}
