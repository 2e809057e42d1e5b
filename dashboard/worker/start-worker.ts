/** Starts a worker of the page. */
import { ImportClient } from './import-client.ts';

/** A worker with its client, whose store has this address. `onFailed` is called with an error where the code cannot be loaded. */
export function startWorker(
  uri: string,
  failure: string,
  onFailed: () => void = () => undefined,
): { readonly client: ImportClient; readonly worker: Worker } {
  const worker = new Worker(new URL('./import-worker.ts', import.meta.url), { type: 'module' });
  const client = new ImportClient(worker, uri);
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    client.fail(new Error(event.message || failure));
    onFailed();
  });
  return { client, worker };
}
