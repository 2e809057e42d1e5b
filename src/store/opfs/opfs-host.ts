/** The worker's side of the store: engines, and the calls to them. */
import { QuarkError, SessionStoreError } from '../../base/errors.ts';
import { ifAllowed } from '../../base/if-allowed.ts';
import { OpfsEngine } from './opfs-engine.ts';
import {
  opfsFileName,
  folderIn,
  storeFailure,
  type FileLocks,
  type FolderEntry,
} from './opfs-files.ts';
import {
  sendOpfsError,
  type EngineAddress,
  type EngineReply,
  type EngineRequest,
} from './opfs-messages.ts';
import { safeNames, settledFolder } from './opfs-names.ts';

/** The folder of all stores of a site. */
const STORES = 'quark-sdk';

type Opened = {
  readonly engine: OpfsEngine;
  readonly uri: string;
  readonly channel: BroadcastChannel;
  /** Calls under way. */
  readonly running: Set<Promise<unknown>>;
};

let settle: (() => Promise<void>) | undefined;

/** Makes this dedicated worker the one of the store. Called once, by the worker's entry file. */
export function exposeEngines(): void {
  const engines = new Map<number, Promise<Opened>>();
  globalThis.addEventListener('message', ({ data }: MessageEvent<EngineRequest>) => {
    void answer(engines, data).then((reply) =>
      globalThis.postMessage(reply, { transfer: buffersOf(reply) }),
    );
  });
  // The thread waits for it: a worker that a policy forbids says nothing.
  globalThis.postMessage(null);
}

async function answer(
  engines: Map<number, Promise<Opened>>,
  request: EngineRequest,
): Promise<EngineReply> {
  const { engine: number, id } = request;
  try {
    if ('open' in request) {
      const opening = openEngine(request.open);
      engines.set(number, opening);
      try {
        await opening;
      } catch (error) {
        engines.delete(number);
        throw error;
      }
      return { id, value: undefined };
    }
    const opened = await engines.get(number);
    if (opened === undefined) throw new Error(`No engine ${number}.`);
    const { args, call, nowMs } = request;
    opened.engine.setTime(nowMs);
    if (call === 'close') {
      engines.delete(number);
      await closeEngine(opened);
      return { id, value: undefined };
    }
    return { id, value: await callEngine(opened, () => opened.engine.call(call, args)) };
  } catch (error) {
    return { id, error: sendOpfsError(error) };
  }
}

async function callEngine(opened: Opened, work: () => unknown): Promise<unknown> {
  const working = (async () => work())();
  opened.running.add(working);
  try {
    return await working;
  } catch (error) {
    throw storeFailure(error, opened.uri);
  } finally {
    opened.running.delete(working);
  }
}

/** Closes the files once nothing is under way: what goes on would open them again, for as long as the worker lives. */
async function closeEngine({ channel, engine, running, uri }: Opened): Promise<void> {
  try {
    await Promise.allSettled(running);
    await engine.close();
  } catch (error) {
    throw storeFailure(error, uri);
  } finally {
    channel.close();
  }
}

async function openEngine({ create, isFull, name, uri }: EngineAddress): Promise<Opened> {
  const { locks, root } = await platform(uri);
  try {
    const stores = await folderIn(root, STORES, create);
    const folder = stores && (await folderIn(stores, opfsFileName(name), create));
    if (folder === undefined)
      throw new SessionStoreError('missing', `There is no store "${name}" on this site.`, {
        details: { uri, name },
      });
    const prefix = `quark-opfs ${name}`;
    const channel = new BroadcastChannel(prefix);
    const askToClose = (shard: string): void => channel.postMessage(shard);
    const engine = new OpfsEngine({
      uri,
      folder,
      locks,
      lockPrefix: prefix,
      askToClose,
      isFull,
    });
    channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (typeof data === 'string') engine.release(data).catch(() => undefined);
    });
    return { engine, uri, channel, running: new Set() };
  } catch (error) {
    throw storeFailure(error, uri);
  }
}

async function platform(
  uri: string,
): Promise<{ readonly root: FolderEntry; readonly locks: FileLocks }> {
  const locks = ifAllowed(() => globalThis.navigator?.locks);
  const storage = ifAllowed(() => globalThis.navigator?.storage);
  if (typeof storage?.getDirectory !== 'function') throw lacking(uri, 'file system of its own');
  if (locks === undefined) throw lacking(uri, 'Web Locks');
  const { FileSystemFileHandle: handles } = globalThis;
  if (handles === undefined || !('createSyncAccessHandle' in handles.prototype))
    throw lacking(uri, 'files that a worker reads and writes at once (createSyncAccessHandle)');
  try {
    // The check above is that it has what the type of the library leaves out.
    const root = (await storage.getDirectory()) as unknown as FolderEntry;
    const own: FileLocks = {
      request: (name, options, work) =>
        locks.request(name, options, work) as ReturnType<typeof work>,
      isTaken: (name) => locks.request(name, { ifAvailable: true }, async (lock) => lock === null),
    };
    settle ??= safeNames(root, own);
    return { root: settledFolder(root, settle), locks: own };
  } catch (error) {
    throw storeFailure(error, uri);
  }
}

function lacking(uri: string, what: string): QuarkError {
  return new QuarkError(
    'unsupported',
    `This browser gives the page no ${what}, so ${uri} cannot be opened. Use "idb:" or "memory:".`,
    { details: { uri, lacking: what } },
  );
}

/** The memory of what was read moves to the other thread. */
function buffersOf(reply: EngineReply): Transferable[] {
  if (!('value' in reply)) return [];
  const { value } = reply;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const buffers = new Set<ArrayBuffer>();
  for (const one of list) {
    const bytes: unknown =
      typeof one === 'object' && one !== null && 'bytes' in one ? one.bytes : one;
    if (bytes instanceof Uint8Array && bytes.buffer instanceof ArrayBuffer)
      buffers.add(bytes.buffer);
  }
  return [...buffers];
}
