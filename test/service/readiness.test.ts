/** A service whose memory for requests does not come back says that it is not ready, and why. */
import { timingSafeEqual } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { DEFAULT_SERVICE_LIMITS } from '../../src/service/limits/limits.ts';
import { SILENT_LOGGER } from '../../src/service/log/logging.ts';
import { AllowedOrigins } from '../../src/service/limits/origin-rules.ts';
import { ServiceHandler } from '../../src/service/routes/service-handler.ts';
import { TestClock } from '../support/clock.ts';

const MIB = 1024 * 1024;
const LOCAL = { remoteAddress: '127.0.0.1', httpVersion: '1.1' };

it('is not ready while its memory is used up for long, and ready again when some comes back', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'quark-ready-'));
  const clock = new TestClock(1e12);
  const spaces = await openSpaces(directory, { clock, objects: undefined });
  let nowMs = 0;
  const handler = new ServiceHandler({
    spaces,
    access: new AccessBook({ database: spaces.database, clock, timingSafeEqual }),
    limits: { ...DEFAULT_SERVICE_LIMITS, maxBytesInFlight: 66 * MIB },
    keyless: 'always',
    origins: new AllowedOrigins([]),
    logger: SILENT_LOGGER,
    clock,
    monotonicMs: () => nowMs,
  });
  const ready = async (): Promise<Record<string, unknown>> => {
    const answer = await handler.handle(new Request('http://127.0.0.1/readyz'), LOCAL);
    const body = (await answer.json()) as Record<string, unknown>;
    return { ...body, code: answer.status };
  };
  /** An upload that never ends: what has arrived of it is held. */
  const upload = (bytes: number): { answer: Promise<Response>; leave: () => void } => {
    const gone = new AbortController();
    let source: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        source = controller;
        controller.enqueue(new Uint8Array(bytes));
      },
    });
    const request = new Request('http://127.0.0.1/api/v1/segments', {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.quark.upload' },
      body,
      duplex: 'half',
    } as RequestInit);
    return {
      answer: handler.handle(request, { ...LOCAL, signal: gone.signal }),
      leave: () => {
        gone.abort();
        source?.error(new Error('gone'));
      },
    };
  };
  try {
    expect(await ready()).toMatchObject({ code: 200, status: 'ready' });
    const first = upload(30 * MIB);
    const refused = await upload(30 * MIB).answer;
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    nowMs += 29_000;
    expect(await ready()).toMatchObject({ code: 200 });
    nowMs += 1_000;
    expect(await ready()).toMatchObject({
      code: 503,
      status: 'no_memory_budget',
      reason: expect.stringContaining('30 seconds'),
      bytesInFlight: 60 * MIB,
    });
    first.leave();
    expect((await first.answer).status).toBe(499);
    expect(await ready()).toMatchObject({ code: 200, status: 'ready' });
  } finally {
    await handler.drain(0);
    await spaces.close();
    await rm(directory, { recursive: true, force: true });
  }
}, 60_000);
