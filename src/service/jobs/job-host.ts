/** The worker's side of jobs: they run here, and read the store through the main thread. */
import { QuarkError } from '../../base/errors.ts';
import type { SegmentManifest, SegmentRead } from '../../store/store.ts';
import type { JobHost, JobParts } from './job.ts';
import {
  HostCallError,
  ownBytes,
  sendError,
  type FromWorker,
  type HostMethod,
  type ToWorker,
} from './job-messages.ts';
import { startJob } from './jobs.ts';

/** The other end of a worker. */
type JobPort = {
  readonly post: (message: FromWorker, transfer: readonly ArrayBuffer[]) => void;
  readonly listen: (listener: (message: ToWorker) => void) => void;
};

type Running = {
  readonly parts: JobParts;
  readonly stop: AbortController;
  readonly calls: Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: unknown) => void }
  >;
};

/** The part of Node's `worker_threads` that is used. */
type Threads = {
  readonly parentPort: {
    readonly postMessage: (message: FromWorker, transfer: readonly ArrayBuffer[]) => void;
    readonly on: (event: 'message', listener: (message: ToWorker) => void) => void;
  } | null;
};

/** Runs this thread as a worker of a service. */
export function exposeJobs(): void {
  const { process } = globalThis as {
    readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
  };
  const threads = process?.getBuiltinModule?.('node:worker_threads') as Threads | undefined;
  const port = threads?.parentPort;
  if (port === null || port === undefined) return;
  hostJobs({
    post: (message, transfer) => port.postMessage(message, transfer),
    listen: (listener) => port.on('message', listener),
  });
}

/** Runs the jobs that arrive at `port`. The main thread gives one job at a time a time slice. */
function hostJobs(port: JobPort): void {
  const running = new Map<number, Running>();
  let turnAtMs = 0;
  let lastCall = 0;
  const busyMs = (): number => performance.now() - turnAtMs;
  const callHost = (id: number, method: HostMethod, given: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const task = running.get(id);
      if (task === undefined || task.stop.signal.aborted) {
        reject(new QuarkError('aborted', 'The job was ended.'));
        return;
      }
      const call = ++lastCall;
      task.calls.set(call, { resolve, reject });
      port.post({ kind: 'call', id, call, method, given, busyMs: busyMs() }, []);
    });
  const step = async (id: number, parts: JobParts): Promise<void> => {
    try {
      const { done, value } = await parts.next();
      if (done === true) {
        running.delete(id);
        port.post({ kind: 'done', id, busyMs: busyMs() }, []);
        return;
      }
      const bytes = ownBytes(value);
      port.post({ kind: 'part', id, bytes, busyMs: busyMs() }, [bytes.buffer]);
    } catch (error) {
      running.delete(id);
      port.post({ kind: 'failed', id, error: sendError(error), busyMs: busyMs() }, []);
    }
  };
  port.listen((message) => {
    const { id } = message;
    if (message.kind !== 'stop') turnAtMs = performance.now();
    if (message.kind === 'start') {
      const stop = new AbortController();
      const host = hostOf(message.hasNotes, stop.signal, {
        call: (method, ...given) => callHost(id, method, given),
        tell: (told) => port.post(told, []),
        id,
      });
      running.set(id, { parts: startJob(message.job, host), stop, calls: new Map() });
    }
    const task = running.get(id);
    if (task === undefined) return;
    if (message.kind === 'reply') {
      const waiting = task.calls.get(message.call);
      task.calls.delete(message.call);
      if (message.isFailed) waiting?.reject(new HostCallError(message.call));
      else waiting?.resolve(message.value);
    } else if (message.kind === 'stop') {
      task.stop.abort();
      running.delete(id);
      for (const { reject } of task.calls.values())
        reject(new QuarkError('aborted', 'The job was ended.'));
      void task.parts.return(undefined).catch(() => undefined);
    } else void step(id, task.parts);
  });
}

function hostOf(
  hasNotes: boolean,
  signal: AbortSignal,
  {
    id,
    call,
    tell,
  }: {
    readonly id: number;
    readonly call: (method: HostMethod, ...given: readonly unknown[]) => Promise<unknown>;
    readonly tell: (message: FromWorker) => void;
  },
): JobHost {
  return {
    signal,
    takeRoom: (bytes) => tell({ kind: 'room', id, bytes }),
    onFailure: (error) => tell({ kind: 'warned', id, error: sendError(error) }),
    store: {
      listSegments: async (filter) =>
        (await call('listSegments', filter)) as readonly SegmentManifest[],
      readSegments: async (segments) =>
        (await call('readSegments', segments)) as readonly SegmentRead[],
    },
    notes: hasNotes
      ? {
          read: async (name) => (await call('readNote', name)) as string | undefined,
          write: async (...given) => (await call('writeNote', ...given)) === true,
        }
      : undefined,
  };
}
