import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { longTest } from '../../support/long.ts';
import {
  createMemoryStore,
  isQuarkError,
  openRun,
  startRun,
  type Store,
  type TrainingSession,
} from 'quark-sdk';
import {
  ARTIFACT_STORAGE_LAYOUT,
  ArtifactStore,
} from '../../../src/instruments/artifacts/artifact-store.ts';
import { getPayload, putPayload } from '../../../src/instruments/artifacts/parts.ts';
import { readArtifacts } from '../../../src/read/artifacts.ts';
import { artifactTable } from '../../../src/records/artifact.ts';
import { runs } from '../../support/property.ts';
import { faultyStore } from '../../support/store-proxy.ts';

const open: Store[] = [];

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

function memory(): Store {
  const store = createMemoryStore();
  open.push(store);
  return store;
}

async function start(strictMode = false): Promise<{ session: TrainingSession; storage: Store }> {
  const storage = memory();
  return { session: await startRun({ project: 'artifacts', storage, strictMode }), storage };
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('storing and loading', () => {
  test('JSON, text and bytes come back as they were', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const bytes = Uint8Array.of(0, 255, 128, 13, 10);
    const cases = [
      ['json', { mean: 0.02, layers: ['a', null] }],
      ['json', 17],
      ['text', 'Grüße, 世界\u0000\ufeff'],
      ['text', ''],
      ['bytes', bytes],
      ['bytes', new Uint8Array(0)],
    ] as const;
    for (const [format, payload] of cases) {
      const record = await artifacts.store('tensor_summary', 'layers/encoder/weights', payload, {
        step: 120,
        metadata: { module: 'encoder.0' },
      });
      expect(record).toMatchObject({
        artifactType: 'tensor_summary',
        artifactKey: 'layers/encoder/weights',
        namespace: 'layers/encoder',
        artifactName: 'weights',
        payloadFormat: format,
        step: 120,
        epoch: null,
        partSha256: null,
        metadata: { module: 'encoder.0' },
      });
      expect(record.sequence).not.toBeNull();
      expect(await artifacts.load(record)).toEqual(payload);
      expect(await artifacts.load(record.id)).toEqual(payload);
    }
    const [first] = await artifacts.read();
    const text = JSON.stringify(cases[0][1]);
    expect(first).toMatchObject({
      sizeBytes: text.length,
      sha256: sha256(new TextEncoder().encode(text)),
    });
    expect(first?.payloadRelativePath).toBe(
      ARTIFACT_STORAGE_LAYOUT.payload
        .replace('{artifact_key}', 'layers/encoder/weights')
        .replace('{id}', first?.id ?? '')
        .replace('{payload_file}', 'payload.json'),
    );
    expect(first?.metadataRelativePath).toMatch(
      /^artifacts\/layers\/encoder\/weights\/.+\/metadata\.json$/,
    );
    await session.close();
  });

  test('a format that is asked for is used, or refused', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const record = await artifacts.store('note', 'a', 'text', { payloadFormat: 'json' });
    expect(record.payloadFormat).toBe('json');
    expect(await artifacts.load(record)).toBe('text');
    const encoded = await artifacts.store('note', 'b', new TextEncoder().encode('bytes'), {
      payloadFormat: 'text',
    });
    expect(await artifacts.load(encoded)).toBe('bytes');
    await expect(
      artifacts.store('note', 'c', { a: 1 }, { payloadFormat: 'bytes' }),
    ).rejects.toThrow(/payload.*bytes/);
    await expect(artifacts.store('note', 'd', { a: 1 }, { payloadFormat: 'text' })).rejects.toThrow(
      /payload.*text/,
    );
    await expect(
      artifacts.store('note', 'e', Uint8Array.of(1), { payloadFormat: 'json' }),
    ).rejects.toThrow(/payload/);
    expect(await artifacts.read()).toHaveLength(2);
    await session.close();
  });

  test('text is what can be read back as text', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const asText = { payloadFormat: 'text' } as const;
    const half = new TextEncoder().encode('世');
    const inPieces = async function* (): AsyncGenerator<Uint8Array> {
      for (const byte of half) yield Uint8Array.of(byte);
    };
    const kept = await artifacts.store('note', 'whole', inPieces(), asText);
    expect(await artifacts.load(kept)).toBe('世');
    for (const wrong of [Uint8Array.of(0xff), half.subarray(0, 2), new Blob([half.subarray(1)])])
      await expect(artifacts.store('note', 'broken', wrong, asText)).rejects.toThrow(
        /payload must be UTF-8 text/,
      );
    // UTF-8 has no half of a pair: it would come back as another character.
    await expect(artifacts.store('note', 'broken', 'a\ud83d')).rejects.toThrow(
      /payload must be text that UTF-8 can hold/,
    );
    const json = await artifacts.store('note', 'json', 'a\ud83d', { payloadFormat: 'json' });
    expect(await artifacts.load(json)).toBe('a\ud83d');
    expect(await artifacts.read({ artifactName: 'broken' })).toStrictEqual([]);
    await session.close();
  });

  test('a payload that memory cannot hold is refused with the way to read it', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const record = await artifacts.store('note', 'small', 'text');
    const huge = artifactTable.wrap({ ...record, sizeBytes: 2 ** 50 });
    await expect(artifacts.load(huge)).rejects.toThrow(
      expect.objectContaining({
        code: 'unsupported',
        message: expect.stringMatching(/stream\(\)/),
      }),
    );
    await session.close();
  });

  longTest('what comes as a stream, a Blob or a generator is kept as bytes', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i * 7);
    async function* generate(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 999) yield bytes.subarray(at, at + 999);
    }
    for (const payload of [
      new Blob([bytes]),
      new Blob([bytes]).stream(),
      generate(),
      bytes.buffer,
    ]) {
      const record = await artifacts.store('file', 'data', payload);
      expect(record).toMatchObject({
        payloadFormat: 'bytes',
        sha256: sha256(bytes),
        sizeBytes: bytes.length,
      });
      expect(await artifacts.load(record)).toEqual(bytes);
    }
    await session.close();
  });

  test('memory that is changed after the call does not change the artifact', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const bytes = Uint8Array.of(1, 2, 3);
    const pending = artifacts.store('file', 'data', bytes);
    bytes.fill(9);
    expect(await artifacts.load(await pending)).toEqual(Uint8Array.of(1, 2, 3));
    await session.close();
  });

  test('histograms and snapshots have types of their own', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const histogram = await artifacts.logHistogram('activation', {
      bins: [-1, 0, 1],
      counts: Float64Array.of(12, 4),
      namespace: 'layers/encoder',
      step: 120,
    });
    expect(histogram).toMatchObject({
      artifactType: 'histogram',
      artifactKey: 'layers/encoder/activation',
    });
    expect(await artifacts.load(histogram)).toEqual({ bins: [-1, 0, 1], counts: [12, 4] });
    const snapshot = await artifacts.logSnapshot(
      'warmup',
      { path: 'a.pt' },
      { snapshotType: 'checkpoint_metadata' },
    );
    expect(snapshot.artifactType).toBe('checkpoint_metadata');
    expect((await artifacts.logSnapshot('batch', [1, 2])).artifactType).toBe(
      'batch_diagnostics_snapshot',
    );
    const wrong = (bins: number[], counts: number[]) =>
      artifacts.logHistogram('h', { bins, counts });
    await expect(wrong([0, 1], [1, 2])).rejects.toThrow(/bins\.length/);
    await expect(wrong([0, 0], [1])).rejects.toThrow(/bins\[1\]/);
    await expect(wrong([0, Number.NaN], [1])).rejects.toThrow(/bins\[1\]/);
    await expect(wrong([0, 1], [-1])).rejects.toThrow(/counts\[0\]/);
    await session.close();
  });

  test('artifacts are still there when another reader opens the run', async () => {
    const { session, storage } = await start();
    const artifacts = new ArtifactStore(session);
    await artifacts.store('note', 'a', 'kept');
    await session.close();
    const reader = await openRun(storage, session.runId);
    expect(reader.run.id).toBe(session.runId);
    expect(await artifacts.load((await artifacts.read())[0] ?? '')).toBe('kept');
  });
});

describe('payloads in parts', () => {
  test('any bytes in any pieces come back, whatever the size of a part', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 64 }),
        async (pieces, partBytes) => {
          const store = memory();
          const kept = await putPayload(store, pieces, partBytes);
          const whole = Uint8Array.from(pieces.flatMap((piece) => [...piece]));
          expect(kept).toMatchObject({ sizeBytes: whole.length, sha256: sha256(whole) });
          expect(kept.partSha256?.length ?? 1).toBe(
            Math.max(1, Math.ceil(whole.length / partBytes)),
          );
          const record = artifactTable.wrap({ ...BLANK, ...kept });
          const read: number[] = [];
          for await (const piece of getPayload(store, record)) read.push(...piece);
          expect(read).toEqual([...whole]);
        },
      ),
      runs(100),
    );
  });

  test('a missing part, parts in another order and a wrong size are found', async () => {
    const store = memory();
    const bytes = Uint8Array.from({ length: 30 }, (_, i) => i);
    const kept = await putPayload(store, [bytes], 10);
    const read = async (changes: object): Promise<number> => {
      let sizeBytes = 0;
      for await (const piece of getPayload(
        store,
        artifactTable.wrap({ ...BLANK, ...kept, ...changes }),
      ))
        sizeBytes += piece.byteLength;
      return sizeBytes;
    };
    expect(await read({})).toBe(30);
    const [a, b, c] = kept.partSha256 ?? [];
    await expect(read({ partSha256: [b, a, c] })).rejects.toThrow(/parts together/);
    await expect(read({ partSha256: [a, b] })).rejects.toThrow(/20 bytes instead of 30/);
    await expect(read({ partSha256: [a, '0'.repeat(64), c] })).rejects.toThrow(/missing/);
    await expect(read({ sizeBytes: 29 })).rejects.toThrow(/30 bytes instead of 29/);
  });

  test('a stream that fails leaves no artifact', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(10);
      throw new Error('the disk went away');
    }
    await expect(artifacts.store('file', 'data', failing())).rejects.toThrow('the disk went away');
    async function* wrong(): AsyncGenerator<Uint8Array> {
      yield 'text' as unknown as Uint8Array;
    }
    await expect(artifacts.store('file', 'data', wrong())).rejects.toThrow(/payload.*Uint8Array/);
    expect(await artifacts.read()).toHaveLength(0);
    await session.close();
  });
});

describe('reading', () => {
  test('every filter picks what it says', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const records = [];
    for (let step = 0; step < 6; step++) {
      records.push(
        await artifacts.store(
          step % 2 === 0 ? 'even' : 'odd',
          step < 3 ? 'low/item' : 'item',
          step === 5 ? 'text' : { step },
          {
            step,
            epoch: Math.floor(step / 3),
          },
        ),
      );
    }
    const steps = async (
      filter: Parameters<ArtifactStore['read']>[0],
    ): Promise<(number | null)[]> => (await artifacts.read(filter)).map(({ step }) => step);
    expect(await steps({})).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await steps({ artifactType: 'odd' })).toEqual([1, 3, 5]);
    expect(await steps({ artifactTypes: ['even'], stepMin: 1 })).toEqual([2, 4]);
    expect(await steps({ namespace: 'low' })).toEqual([0, 1, 2]);
    expect(await steps({ artifactKey: 'item' })).toEqual([3, 4, 5]);
    expect(await steps({ artifactName: 'item', epoch: 1 })).toEqual([3, 4, 5]);
    expect(await steps({ payloadFormat: 'text' })).toEqual([5]);
    expect(await steps({ artifactId: records[4]?.id })).toEqual([4]);
    expect(await steps({ artifactType: 'even', limit: 2 })).toEqual([2, 4]);
    await expect(steps({ artifactType: 3 as unknown as string })).rejects.toThrow(/artifactType/);
    await expect(artifacts.load('art_unknown')).rejects.toSatisfy((error) =>
      isQuarkError(error, 'artifact_not_found'),
    );
    await session.close();
  });
});

describe('retention hooks', () => {
  test('see each artifact once it is kept, in order', async () => {
    const { session } = await start();
    const seen: unknown[] = [];
    const artifacts = new ArtifactStore(session, {
      retentionHooks: [
        async (store, record) => void seen.push(await store.load(record)),
        (_, record) => seen.push(record.artifactKey),
      ],
    });
    await artifacts.store('note', 'a', 'first');
    expect(seen).toEqual(['first', 'a']);
    await session.close();
  });

  test('may wait until everything is written', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session, {
      retentionHooks: [async () => session.flush()],
    });
    await artifacts.store('note', 'a', 'first');
    expect(await artifacts.read()).toHaveLength(1);
    await session.close();
  });

  test('are done when the run ends, as is what was handed over before', async () => {
    const { session, storage } = await start();
    const seen: unknown[] = [];
    const artifacts = new ArtifactStore(session, {
      retentionHooks: [
        async (store, record) => {
          await Promise.resolve();
          seen.push(await store.load(record));
        },
      ],
    });
    async function* slowly(): AsyncGenerator<Uint8Array> {
      for (const text of ['ab', 'cd']) {
        await new Promise((resolve) => {
          setTimeout(resolve, 5);
        });
        yield new TextEncoder().encode(text);
      }
    }
    const storing = artifacts.store('note', 'slow', slowly(), { payloadFormat: 'text' });
    await session.endRun();
    expect(seen).toEqual(['abcd']);
    await storing;
    const reader = await openRun(storage, session.runId);
    expect(reader.run.status).toBe('completed');
    expect(await readArtifacts({ store: storage, runId: session.runId })).toMatchObject({
      records: [{ artifactKey: 'slow', sizeBytes: 4 }],
    });
  });

  test('that fail raise in strict mode, warn otherwise, and lose nothing', async () => {
    for (const [strictMode, raiseOnRetentionError, raises] of [
      [true, null, true],
      [false, null, false],
      [true, false, false],
      [false, true, true],
    ] as const) {
      const { session, storage } = await start(strictMode);
      const artifacts = new ArtifactStore(session, {
        retentionHooks: [() => Promise.reject(new Error('no room'))],
        raiseOnRetentionError,
      });
      const storing = artifacts.store('note', 'a', 'kept');
      if (raises)
        await expect(storing).rejects.toSatisfy((error) => isQuarkError(error, 'retention_failed'));
      else await storing;
      expect(await artifacts.read()).toHaveLength(1);
      await session.close();
      const reader = await openRun(storage, session.runId);
      const events = await reader.readEvents({ eventType: 'retention_failed' });
      expect(events).toHaveLength(raises ? 0 : 1);
      if (!raises)
        expect(events[0]).toMatchObject({ severity: 'warning', payload: { artifact_key: 'a' } });
    }
  });
});

describe('bad input', () => {
  test('is refused by name, with nothing kept', async () => {
    const { session } = await start();
    const artifacts = new ArtifactStore(session);
    const store = (
      type: string,
      name: string,
      payload: unknown,
      options: object = {},
    ): Promise<unknown> => artifacts.store(type, name, payload as string, options);
    await expect(store('Note', 'a', 'x')).rejects.toThrow(/artifactType/);
    await expect(store('note', '../a', 'x')).rejects.toThrow(/name/);
    await expect(store('note', 'a', { x: Number.NaN })).rejects.toThrow(/payload\.x/);
    await expect(store('note', 'a', undefined)).rejects.toThrow(/payload/);
    await expect(store('note', 'a', 'x', { step: -1 })).rejects.toThrow(/step/);
    await expect(store('note', 'a', 'x', { stepp: 1 })).rejects.toThrow(/stepp/);
    await expect(store('note', 'a', 'x', { payloadFormat: 'xml' })).rejects.toThrow(
      /payloadFormat/,
    );
    expect(() => new ArtifactStore(session, { retentionHooks: [1 as never] })).toThrow(
      /retentionHooks/,
    );
    expect(await artifacts.read()).toHaveLength(0);
    await artifacts.close();
    await expect(store('note', 'a', 'x')).rejects.toSatisfy((error) =>
      isQuarkError(error, 'writer_closed'),
    );
    await session.close();
  });
});

const BLANK = {
  runId: 'run',
  sequence: 0,
  timestamp: '2026-01-01T00:00:00.000Z',
  id: 'art_1',
  artifactType: 'file',
  namespace: null,
  artifactName: 'a',
  artifactKey: 'a',
  step: null,
  epoch: null,
  payloadFormat: 'bytes',
  payloadRelativePath: 'a',
  metadataRelativePath: 'a',
  metadata: null,
} as const;

describe('a store that takes nothing', () => {
  async function failing(strictMode: boolean) {
    const inner = memory();
    const fault = { isFull: false };
    const storage = faultyStore(inner, (call) =>
      fault.isFull && ['appendSegments', 'putBlob'].includes(call)
        ? { kind: 'before', reason: 'full' }
        : { kind: 'none' },
    );
    const session = await startRun({ project: 'artifacts', storage, strictMode });
    return { inner, fault, session, artifacts: new ArtifactStore(session) };
  }

  test('gets records and payloads once it takes them again', async () => {
    const { artifacts, fault, inner, session } = await failing(false);
    fault.isFull = true;
    const payload = new Uint8Array(300_000).fill(7);
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield payload;
    }
    const records = [
      await artifacts.store('note', 'a', 'text'),
      await artifacts.store('file', 'b', stream()),
    ];
    expect(records.map(({ sequence }) => sequence)).toEqual([null, null]);
    expect(session.recordingStatus()).toMatchObject({ state: 'stopped', droppedRows: 0 });
    await artifacts.close();
    await session.endRun();
    await session.close();
    expect((await readArtifacts({ store: inner, runId: session.runId })).records).toEqual([]);
    fault.isFull = false;
    await expect
      .poll(async () => (await openRun(inner, session.runId)).run.status, { timeout: 60_000 })
      .toBe('completed');
    const stored = (await readArtifacts({ store: inner, runId: session.runId })).records;
    expect(stored.map(({ id }) => id)).toEqual(records.map(({ id }) => id));
    const parts: Uint8Array[] = [];
    for (const record of stored)
      for await (const part of getPayload(inner, record)) parts.push(part);
    expect(parts.map(sha256)).toEqual([sha256(new TextEncoder().encode('text')), sha256(payload)]);
  });

  test('has no record of a payload that memory had no room for; it is counted', async () => {
    const { artifacts, fault, inner, session } = await failing(false);
    fault.isFull = true;
    const payload = new Uint8Array(70 << 20);
    for (let at = 0; at < payload.length; at += 1 << 20) payload[at] = at >> 20;
    const large = await artifacts.store('file', 'large', payload);
    expect(large).toMatchObject({ sizeBytes: 70 << 20, sequence: null });
    const small = await artifacts.store('file', 'small', new Uint8Array(1 << 20));
    expect(session.recordingStatus().droppedRows).toBe(1);
    fault.isFull = false;
    await session.endRun();
    const reader = await openRun(inner, session.runId);
    expect(
      (await readArtifacts({ store: inner, runId: session.runId })).records.map(({ id }) => id),
    ).toEqual([small.id]);
    const [event] = await reader.readEvents({ eventType: 'records_dropped' });
    expect(event?.payload).toMatchObject({ table: 'artifacts', count: 1, artifact_key: 'large' });
    await session.close();
  });

  test('rejects in strict mode', async () => {
    const { artifacts, fault, session } = await failing(true);
    fault.isFull = true;
    await expect(artifacts.store('note', 'a', 'text')).rejects.toMatchObject({ reason: 'full' });
    fault.isFull = false;
    await session.endRun();
    await session.close();
  });
});
