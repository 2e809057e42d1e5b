/** The clients of the benchmark: an attacker at a steady rate, and a user who works at the same time. */
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import { UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { encodeUpload } from '../../src/wire/upload.ts';
import type { Candidate } from './requests.ts';
import { metricSegment } from './segments.ts';

const MAX_SOCKETS = 64;
/** What is not answered after so long is no longer waited for. */
const GIVEN_UP_MS = 5_000;

export type AttackPlan = {
  readonly port: number;
  readonly key: string;
  readonly seconds: number;
  readonly perSecond: number;
  readonly request: Omit<Candidate, 'bodies'>;
  /** In base64, as it comes from another process. */
  readonly bodies: readonly string[];
};

export type AttackCounts = {
  readonly attempts: number;
  /** Answers by status; `none` while it lasted, `cut` where the connection broke. */
  readonly statuses: Record<string, number>;
  /** Of 429 and 503 without `Retry-After`, or other 5xx: the first few. */
  readonly wrong: readonly string[];
};

/** Asks so often a second, whatever comes back, and leaves at the end. */
export async function attack(plan: AttackPlan): Promise<AttackCounts> {
  const bodies = plan.bodies.map((text) => Buffer.from(text, 'base64'));
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  const statuses: Record<string, number> = {};
  const wrong: string[] = [];
  const count = (name: string): void => {
    statuses[name] = (statuses[name] ?? 0) + 1;
  };
  const known = new WeakSet();
  let isOver = false;
  const unanswered = new Map<number, ClientRequest>();
  const judge = (response: IncomingMessage): void => {
    const { statusCode: status = 0, headers } = response;
    count(String(status));
    const isFine = status < 500 && status !== 429;
    const isLater = (status === 429 || status === 503) && Number(headers['retry-after']) > 0;
    if (!isFine && !isLater && wrong.length < 5)
      wrong.push(`${status}, Retry-After ${headers['retry-after'] ?? 'missing'}`);
  };
  const send = (i: number): void => {
    const { method, path, headers } = plan.request;
    const body = bodies.length === 0 ? undefined : bodies[i % bodies.length];
    const end = (name?: string): void => {
      if (!unanswered.delete(i)) return;
      if (name !== undefined) count(name);
    };
    const outgoing = request({
      agent,
      host: '127.0.0.1',
      localAddress: '127.0.0.3',
      port: plan.port,
      method,
      path: path.replaceAll('{i}', String(i)),
      headers: {
        ...headers,
        authorization: `Bearer ${plan.key}`,
        ...(body === undefined ? {} : { 'content-length': body.byteLength }),
      },
    });
    unanswered.set(i, outgoing);
    outgoing.on('response', (response) => {
      judge(response);
      response.resume();
      response.on('close', () => end());
      response.on('error', () => end());
    });
    outgoing.on('error', () => end(isOver ? 'none' : 'cut'));
    // A connection may break between two requests, or while its body is still being written.
    outgoing.on('socket', (socket) => {
      if (known.has(socket)) return;
      known.add(socket);
      socket.on('error', () => undefined);
    });
    outgoing.end(body);
  };
  const startMs = performance.now();
  let attempts = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const spent = (performance.now() - startMs) / 1_000;
      for (; attempts < Math.min(spent, plan.seconds) * plan.perSecond; attempts++) send(attempts);
      if (spent < plan.seconds) return;
      clearInterval(timer);
      resolve();
    }, 10);
  });
  isOver = true;
  // An agent alone ends its connections, and then opens new ones for the requests that still wait for one.
  for (const outgoing of unanswered.values()) outgoing.destroy();
  agent.destroy();
  // Those that are cut off say so.
  for (let i = 0; i < 100 && unanswered.size > 0; i++) await pause(20);
  return { attempts, statuses, wrong };
}

export type WorkPlan = {
  readonly port: number;
  readonly key: string;
  readonly runId: string;
  readonly writerId: string;
  readonly seconds: number;
  readonly appendsPerSecond: number;
  readonly curvesPerSecond: number;
  readonly seed: number;
};

export type WorkTimes = {
  /** Milliseconds of each, from when it was due. */
  readonly appendMs: readonly number[];
  readonly curvesMs: readonly number[];
  /** Answers that were not 200, by status. */
  readonly failed: Record<string, number>;
};

/** Works as a training with a dashboard does: appends, and looks at curves. Nothing waits for what came before. */
export async function work(plan: WorkPlan): Promise<WorkTimes> {
  const agent = new Agent({ keepAlive: true });
  const appendMs: number[] = [];
  const curvesMs: number[] = [];
  const failed: Record<string, number> = {};
  const all: Promise<void>[] = [];
  const send = (times: number[], method: string, path: string, body?: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      const startMs = performance.now();
      const end = (status: string): void => {
        times.push(performance.now() - startMs);
        if (status !== '200') failed[status] = (failed[status] ?? 0) + 1;
        resolve();
      };
      const outgoing = request({
        agent,
        host: '127.0.0.1',
        port: plan.port,
        method,
        path: `/api/v1${path}`,
        headers: {
          authorization: `Bearer ${plan.key}`,
          ...(body === undefined
            ? {}
            : { 'content-type': UPLOAD_MEDIA_TYPE, 'content-length': body.byteLength }),
        },
      });
      outgoing.setTimeout(GIVEN_UP_MS, () => outgoing.destroy());
      outgoing.on('response', (response) => {
        response.resume();
        response.on('end', () => end(String(response.statusCode)));
        response.on('error', () => end('cut'));
      });
      outgoing.on('error', () => end('cut'));
      outgoing.end(body);
    });
  const { runId, writerId, seconds } = plan;
  const startMs = performance.now();
  const total = Math.round(seconds * plan.appendsPerSecond);
  const curvesEvery = Math.max(1, Math.round(plan.appendsPerSecond / plan.curvesPerSecond));
  for (let i = 0; i < total; i++) {
    await pause(startMs + (1_000 * i) / plan.appendsPerSecond - performance.now());
    const shape = { rows: 100, metrics: 10, firstStep: 10 * i };
    all.push(
      send(appendMs, 'POST', '/segments', encodeUpload([metricSegment(runId, writerId, i, shape)])),
    );
    if (i % curvesEvery === 0)
      all.push(send(curvesMs, 'GET', `/runs/${runId}/curves?buckets=1000`));
  }
  await Promise.all(all);
  agent.destroy();
  return { appendMs, curvesMs, failed };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, ms));
  });
}
