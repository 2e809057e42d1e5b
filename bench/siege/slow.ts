/** Slow connections: heads and bodies that arrive byte by byte, and answers that are not read. */
import { connect, type Socket } from 'node:net';
import { headOf } from './leaving.ts';
import { RUN_ID, type SiegeUser } from './scene.ts';

export type SlowKind = 'headers' | 'body' | 'reader' | 'idle';

export type SlowPlan = {
  readonly port: number;
  readonly users: readonly SiegeUser[];
  readonly counts: Readonly<Record<SlowKind, number>>;
  /** When to count those that are alive, in seconds from the opening of the last one. */
  readonly marks: readonly number[];
  /** Addresses they come from. */
  readonly addresses: number;
};

export type SlowCounts = {
  /** Those alive at each mark, by kind. */
  readonly alive: readonly (Readonly<Record<SlowKind, number>> & { readonly atSeconds: number })[];
  readonly openedMs: number;
  /** Statuses that were sent to those that trickled. */
  readonly statuses: Record<string, number>;
};

/** How often a byte is sent. */
const EVERY_MS = 1_000;
const KINDS: readonly SlowKind[] = ['headers', 'body', 'reader', 'idle'];

/** Opens them and keeps them going until the last mark. */
export async function holdSlowly(plan: SlowPlan): Promise<SlowCounts> {
  const statuses: Record<string, number> = {};
  const open = new Map<SlowKind, Set<Socket>>(KINDS.map((kind) => [kind, new Set()]));
  const startMs = performance.now();
  let n = 0;
  for (const kind of KINDS)
    for (let i = 0; i < plan.counts[kind]; i++, n++) {
      const user = plan.users[n % plan.users.length];
      const localAddress = `127.0.0.${20 + (n % plan.addresses)}`;
      const socket = connect({ host: '127.0.0.1', port: plan.port, localAddress });
      open.get(kind)?.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => open.get(kind)?.delete(socket));
      if (kind !== 'reader')
        socket.on('data', (data: Buffer) => {
          const status = /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1];
          if (status !== undefined) statuses[status] = (statuses[status] ?? 0) + 1;
        });
      // An end of the other side is an end: half-open connections are not counted as alive.
      socket.on('end', () => socket.destroy());
      if (kind === 'reader') socket.pause();
      const first = beginning(kind, plan.port, user?.key ?? '');
      if (first !== '') socket.write(first);
      if (n % 100 === 99) await wait(20);
    }
  const trickle = setInterval(() => {
    for (const kind of ['headers', 'body'] as const)
      for (const socket of open.get(kind) ?? []) if (socket.writable) socket.write('x');
  }, EVERY_MS);
  const openedMs = performance.now() - startMs;
  const alive: (Record<SlowKind, number> & { atSeconds: number })[] = [];
  for (const atSeconds of plan.marks) {
    await wait(startMs + openedMs + 1_000 * atSeconds - performance.now());
    const count = (kind: SlowKind): number => open.get(kind)?.size ?? 0;
    alive.push({
      atSeconds,
      headers: count('headers'),
      body: count('body'),
      reader: count('reader'),
      idle: count('idle'),
    });
  }
  clearInterval(trickle);
  for (const sockets of open.values()) for (const socket of sockets) socket.destroy();
  return { alive, openedMs, statuses };
}

function beginning(kind: SlowKind, port: number, key: string): string {
  const request = { route: '', method: 'GET', headers: {} };
  switch (kind) {
    case 'headers':
      return `GET /api/v1/runs HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-slow: `;
    case 'body':
      return headOf(
        {
          ...request,
          method: 'POST',
          path: '/api/v1/segments',
          headers: { 'content-type': 'application/vnd.quark.upload', 'content-length': '60000' },
        },
        port,
        key,
      );
    case 'reader':
      return headOf({ ...request, path: `/api/v1/runs/${RUN_ID}/tables/metrics/rows` }, port, key);
    case 'idle':
      return '';
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, ms));
  });
}
