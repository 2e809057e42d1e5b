/**
 * The only place that creates workers. There are several ways, because the file of the worker is not reachable everywhere the
 * package is: by its URL, then from its text, which the package carries.
 */
import { messageOf, QuarkError } from '../../base/errors.ts';
import { nodeEndpoint, type WorkerEndpoint } from './endpoint.ts';
import { hasWebWorker, nodeThreads, type NodeWorker } from './machine.ts';

/** How workers are to be made: `auto` tries the URL, then the text. */
export const WORKER_MODES = ['auto', 'url', 'inline-source', 'none'] as const;

/** One of {@link WORKER_MODES}. */
export type WorkerMode = (typeof WORKER_MODES)[number];

/** The way in use: not yet known, one of the ways, or none that works. */
export type WorkerWayName = 'pending' | 'url' | 'inline-source' | 'custom' | 'none';

/** A worker that a user made: a Web Worker or one of Node's `worker_threads`, running the package's worker file. */
export type WorkerLike = Worker | NodeWorker;

/** A worker that has been started, whatever it is. */
export type SpawnedWorker = {
  readonly endpoint: WorkerEndpoint;
  /** Calls back once, when the worker has died or could not start. */
  readonly onDeath: (listener: (reason: string) => void) => void;
  readonly terminate: () => void;
  /** A busy worker keeps a Node process alive; an idle one does not. */
  readonly setBusy: (isBusy: boolean) => void;
};

/** One way of making a worker. It may start and never answer: only its first reply tells. */
export type WorkerWay = {
  readonly name: Exclude<WorkerWayName, 'pending' | 'none'>;
  readonly spawn: () => Promise<SpawnedWorker>;
};

/** A file that a worker runs. */
export type WorkerFile = {
  /** Its address; undefined in a build without the file. */
  readonly url: () => URL | undefined;
  /** Starts it in a page, spelled so that bundlers find the file. */
  readonly open: () => Worker;
  /** Its text. */
  readonly source: () => Promise<string>;
};

/** The ways to try, in order. */
export function workerWays(
  file: WorkerFile,
  mode: WorkerMode,
  spawn: (() => WorkerLike) | undefined,
): readonly WorkerWay[] {
  if (mode === 'none') return [];
  if (spawn !== undefined) return [{ name: 'custom', spawn: async () => adapt(spawn()) }];
  const ways: WorkerWay[] = [];
  if (mode !== 'inline-source') ways.push({ name: 'url', spawn: async () => spawnFromUrl(file) });
  if (mode !== 'url')
    ways.push({ name: 'inline-source', spawn: async () => spawnFromSource(await file.source()) });
  return ways;
}

function spawnFromUrl(file: WorkerFile): SpawnedWorker {
  const url = file.url();
  if (url === undefined) throw unavailable('this build has no worker file');
  if (hasWebWorker()) return adaptWeb(file.open());
  return adaptNode(new (threads().Worker)(url));
}

function spawnFromSource(source: string): SpawnedWorker {
  if (!hasWebWorker())
    return adaptNode(
      new (threads().Worker)(new URL(`data:text/javascript,${encodeURIComponent(source)}`)),
    );
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const worker = adaptWeb(new Worker(url, { type: 'module' }));
  // The URL is needed until the script has been fetched, which the first message or the first error proves.
  const revoke = (): void => URL.revokeObjectURL(url);
  worker.endpoint.addEventListener('message', revoke);
  worker.onDeath(revoke);
  return worker;
}

function threads(): NonNullable<ReturnType<typeof nodeThreads>> {
  const found = nodeThreads();
  if (found === undefined)
    throw unavailable('there is neither a Worker nor node:worker_threads here');
  return found;
}

function unavailable(reason: string): QuarkError {
  return new QuarkError('unsupported', `No worker: ${reason}.`);
}

function adapt(worker: WorkerLike): SpawnedWorker {
  return 'on' in worker ? adaptNode(worker) : adaptWeb(worker);
}

function adaptWeb(worker: Worker): SpawnedWorker {
  return {
    endpoint: worker,
    onDeath(listener) {
      worker.addEventListener(
        'error',
        (event) => listener(`the worker failed: ${event.message ?? 'its script did not load'}`),
        { once: true },
      );
      worker.addEventListener(
        'messageerror',
        () => listener('a message of the worker could not be read'),
        { once: true },
      );
    },
    terminate: () => worker.terminate(),
    setBusy: () => undefined,
  };
}

function adaptNode(worker: NodeWorker): SpawnedWorker {
  worker.unref();
  return {
    endpoint: nodeEndpoint(worker),
    onDeath(listener) {
      worker.on('error', (error) => listener(`the worker failed: ${messageOf(error)}`));
      worker.on('exit', (code) => listener(`the worker exited with code ${String(code)}`));
      worker.on('messageerror', () => listener('a message of the worker could not be read'));
    },
    terminate: () => void worker.terminate(),
    setBusy(isBusy) {
      if (isBusy) worker.ref();
      else worker.unref();
    },
  };
}
