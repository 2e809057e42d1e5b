/** Clients that leave: at every point of a request, by FIN, by RST, or by falling silent. */
import { connect, type Socket } from 'node:net';
import { random as randomFrom } from '../../test/support/tensors.ts';
import type { RouteRequest } from './routes.ts';
import { RUN_ID, type SiegeUser } from './scene.ts';

/** How far a request comes before its client is gone. */
export const PHASES = ['headers', 'body', 'asked', 'working', 'answer', 'pipelined'] as const;
export type Phase = (typeof PHASES)[number];
const ENDINGS = ['fin', 'rst', 'half'] as const;
type Ending = (typeof ENDINGS)[number];

const PIPELINED = 5;
const FLOOD = 2_000;
/** A client that reads nothing more, and whose side alone is closed, goes for good after so long. */
const HALF_OPEN_MS = 50;
const NO_ANSWER_MS = 3_000;

export type LeavingPlan = {
  readonly port: number;
  readonly seed: number;
  readonly count: number;
  readonly atOnce: number;
  readonly users: readonly SiegeUser[];
  readonly routes: readonly RouteRequest[];
};

export type LeavingCounts = {
  readonly requests: number;
  /** Requests by phase. */
  readonly phases: Record<Phase, number>;
  readonly endings: Record<Ending, number>;
  readonly routes: number;
  /** First status codes that came back before the client left. */
  readonly statuses: Record<string, number>;
};

/** A deletion or archiving names another run: many arrive whole, and the everyday requests read the run of the scene. */
function withoutEffect(request: RouteRequest): RouteRequest {
  const hasEffect = request.method === 'DELETE' || request.path.endsWith('/archive');
  return hasEffect ? { ...request, path: request.path.replace(RUN_ID, 'run_nobodys') } : request;
}

/** Sends them all, so many at once; each pair of route and phase is met again and again. */
export async function leaveEarly(plan: LeavingPlan): Promise<LeavingCounts> {
  const random = randomFrom(plan.seed);
  const pick = <T>(list: readonly T[], fallback: T): T =>
    list[Math.floor(random() * list.length)] ?? fallback;
  const counts = {
    requests: 0,
    phases: { headers: 0, body: 0, asked: 0, working: 0, answer: 0, pipelined: 0 },
    endings: { fin: 0, rst: 0, half: 0 },
    routes: new Set(plan.routes.map(({ route }) => route)).size,
    statuses: {} as Record<string, number>,
  };
  const all = plan.routes.map(withoutEffect);
  const common = all.filter(({ isRare }) => isRare !== true);
  let next = 0;
  const work = async (): Promise<void> => {
    while (counts.requests < plan.count) {
      const i = next++;
      const routes = i < all.length * PHASES.length ? all : common;
      const one = routes[i % routes.length];
      if (one === undefined) return;
      const phase = PHASES[Math.floor(i / routes.length) % PHASES.length] ?? 'asked';
      const ending = pick(ENDINGS, 'rst');
      const times = phase === 'pipelined' ? Math.min(PIPELINED, plan.count - counts.requests) : 1;
      counts.requests += times;
      counts.phases[phase] += times;
      counts.endings[ending] += times;
      const user = i % plan.users.length;
      const delayMs = phase === 'asked' ? random() * 2 : 1 + random() * 24;
      const status = await leave({
        port: plan.port,
        localAddress: `127.0.0.${2 + user}`,
        head: headOf(one, plan.port, plan.users[user]?.key ?? '', phase === 'body'),
        body: one.body ?? new Uint8Array(0),
        phase,
        ending,
        times,
        delayMs,
        cut: random(),
      });
      if (status !== '') counts.statuses[status] = (counts.statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: plan.atOnce }, work));
  return counts;
}

/** The head of a request. One without a body announces one that never comes, where the body is to be cut off. */
export function headOf(
  { method, path, headers, body }: RouteRequest,
  port: number,
  key: string,
  isCutInBody = false,
): string {
  const length = body?.byteLength ?? (isCutInBody ? 1_000 : 0);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Bearer ${key}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(length === 0 && body === undefined ? [] : [`content-length: ${length}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

type Leaving = {
  readonly port: number;
  readonly localAddress: string;
  readonly head: string;
  readonly body: Uint8Array;
  readonly phase: Phase;
  readonly ending: Ending;
  readonly times: number;
  readonly delayMs: number;
  /** Where it is cut: a share of the head or of the body. */
  readonly cut: number;
};

/** The status that came before the client left; empty where none did. */
async function leave(one: Leaving): Promise<string> {
  const { phase, head, body, times, delayMs, cut } = one;
  const socket = connect({ host: '127.0.0.1', port: one.port, localAddress: one.localAddress });
  let status = '';
  // After a reset by the other side there is nobody to leave.
  socket.on('error', () => undefined);
  const answered = new Promise<void>((resolve) => {
    socket.once('data', (data) => {
      status = /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1] ?? '';
      socket.pause();
      resolve();
    });
    socket.once('close', () => resolve());
  });
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('close', () => resolve(false));
  });
  if (!isOpen) return 'refused';
  switch (phase) {
    case 'headers':
      socket.write(head.slice(0, 1 + Math.floor(cut * (head.length - 4))));
      break;
    case 'body':
      socket.write(head);
      socket.write(body.subarray(0, Math.floor(cut * body.byteLength)));
      break;
    case 'pipelined':
      for (let i = 0; i < times; i++) socket.write(Buffer.concat([Buffer.from(head), body]));
      break;
    default:
      socket.write(Buffer.concat([Buffer.from(head), body]));
  }
  if (phase === 'answer') await Promise.race([answered, wait(NO_ANSWER_MS)]);
  await wait(delayMs);
  await end(socket, one.ending);
  return status;
}

async function end(socket: Socket, ending: Ending): Promise<void> {
  if (socket.destroyed) return;
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  if (ending === 'rst') socket.resetAndDestroy();
  else if (ending === 'fin') socket.destroy();
  else {
    socket.pause();
    socket.end();
    await wait(HALF_OPEN_MS);
    socket.destroy();
  }
  await closed;
}

/** Connections that ask for rows so often, one request behind the other, and read nothing. */
export async function floodAndLeave(
  plan: Pick<LeavingPlan, 'port' | 'users' | 'count'>,
): Promise<void> {
  for (let i = 0; i < plan.count; i++) {
    const key = plan.users[i % plan.users.length]?.key ?? '';
    const path = `/api/v1/runs/${RUN_ID}/tables/metrics/rows?format=arrow`;
    const head = headOf({ route: '', method: 'GET', path, headers: {} }, plan.port, key);
    const { port } = plan;
    const [delayMs, cut] = [50, 0];
    const body = new Uint8Array(0);
    const from = { port, localAddress: `127.0.0.${2 + i}`, head, body, delayMs, cut };
    await leave({ ...from, phase: 'pipelined', ending: i % 2 === 0 ? 'rst' : 'fin', times: FLOOD });
  }
}

/** Uploads of many MiB that end in the middle, so many at once. */
export async function abortUploads(
  plan: Omit<LeavingPlan, 'atOnce' | 'routes'> & { readonly bytes: Uint8Array },
): Promise<void> {
  const random = randomFrom(plan.seed + 1);
  const sha256 = 'a'.repeat(64);
  const targets = [
    { method: 'PUT', path: `/api/v1/blobs/${sha256}`, type: 'application/octet-stream' },
    { method: 'POST', path: '/api/v1/segments', type: 'application/vnd.quark.upload' },
  ];
  for (let i = 0; i < plan.count; i++) {
    const user = plan.users[i % plan.users.length];
    const { method, path, type } = targets[i % 2] ?? { method: 'PUT', path: '/', type: '' };
    const { bytes: body } = plan;
    const request = { route: '', method, path, headers: { 'content-type': type }, body };
    const socket = connect({ host: '127.0.0.1', port: plan.port, localAddress: '127.0.0.2' });
    socket.on('error', () => undefined);
    socket.resume();
    const sent = Math.floor((0.2 + 0.75 * random()) * body.byteLength);
    const done = new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
      socket.write(headOf(request, plan.port, user?.key ?? ''));
      socket.write(body.subarray(0, sent), () => resolve());
    });
    await Promise.race([done, wait(NO_ANSWER_MS)]);
    await end(socket, i % 4 < 2 ? 'rst' : 'fin');
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
