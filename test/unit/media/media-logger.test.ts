import { inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createMemoryStore, openRun, startRun, type Store, type TrainingSession } from 'quark-sdk';
import { captureConsole, readConsole } from 'quark-sdk/console';
import { bytesInput, exportQuark } from 'quark-sdk/exchange';
import { histogramEdges, mergeHistograms } from 'quark-sdk/kernels';
import {
  loadMedia,
  MediaLogger,
  readMedia,
  type MediaContent,
  type MediaItem,
  type MediaKind,
} from 'quark-sdk/media';
import { ArtifactStore } from 'quark-sdk/probes';
import { imported } from '../../support/import-result.ts';
import { runs } from '../../support/property.ts';

const open: Store[] = [];

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

async function start(): Promise<{ session: TrainingSession; media: MediaLogger }> {
  const storage = createMemoryStore();
  open.push(storage);
  const session = await startRun({ project: 'media', storage, strictMode: true });
  return { session, media: new MediaLogger(session) };
}

/** What the run has of a kind, after its end. */
async function readBack<K extends MediaKind>(
  session: TrainingSession,
  kind: K,
): Promise<{ item: MediaItem<K>; content: MediaContent[K] }[]> {
  if (session.status === 'running') await session.endRun();
  const run = await openRun(session.store, session.runId);
  const { items, problems } = await readMedia(run, { kinds: [kind] });
  expect(problems).toStrictEqual([]);
  return Promise.all(
    items.map(async (item) => ({
      item,
      content: await loadMedia<K>(run, { kind, record: item.record }),
    })),
  );
}

/** The pixels of a PNG as the specification says, for one IDAT chunk and no filters. */
function decodePng(bytes: Uint8Array): { width: number; height: number; data: Uint8Array } {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const width = view.getUint32(16);
  const height = view.getUint32(20);
  const channels = [1, 0, 3, 0, 2, 0, 4][bytes[25] ?? 0] ?? 0;
  const raw = inflateSync(bytes.subarray(41, 41 + view.getUint32(33)));
  const data = new Uint8Array(width * height * channels);
  for (let y = 0; y < height; y++)
    data.set(
      raw.subarray(y * (width * channels + 1) + 1, (y + 1) * (width * channels + 1)),
      y * width * channels,
    );
  return { width, height, data };
}

const finite = fc.float({ noNaN: true, noDefaultInfinity: true });

describe('each kind comes back as it was', () => {
  test('distributions, which merge as if they had been one', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double(), { maxLength: 60 }),
        fc.array(fc.double(), { maxLength: 60 }),
        async (a, b) => {
          const { media, session } = await start();
          await media.logDistribution('w', a, { step: 0 });
          await media.logDistribution('w', Float64Array.from(b), { step: 1 });
          await media.logDistribution('w', [...a, ...b], { step: 2 });
          const [first, second, both] = await readBack(session, 'distribution');
          if (first === undefined || second === undefined || both === undefined)
            throw new Error('three were logged');
          expect(mergeHistograms([first.content, second.content])).toStrictEqual(both.content);
          expect(histogramEdges(first.content)).toHaveLength(first.content.counts.length + 1);
          const real = a.filter((value) => Number.isFinite(value));
          expect(first.item.metadata.elementCount).toBe(a.length);
          expect(first.item.metadata.max).toBe(real.length === 0 ? null : Math.max(...real) + 0);
        },
      ),
      runs(40),
    );
  });

  test('images of 1 to 4 channels', async () => {
    const image = fc
      .tuple(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom(1, 2, 3, 4),
      )
      .chain(([width, height, channels]) =>
        fc
          .uint8Array({
            minLength: width * height * channels,
            maxLength: width * height * channels,
          })
          .map((data) => ({ width, height, channels, data })),
      );
    await fc.assert(
      fc.asyncProperty(image, async ({ channels, data, height, width }) => {
        const { media, session } = await start();
        await Promise.all([
          media.logImage('bytes', { data, width, height, channels }),
          media.logImage('floats', {
            data: Float32Array.from(data, (value) => value / 255),
            width,
            height,
          }),
          media.logImage('tensor', {
            shape: [height, width, channels],
            data: () => Promise.resolve(Int32Array.from(data)),
          }),
        ]);
        const found = await readBack(session, 'image');
        expect(found).toHaveLength(3);
        for (const { content, item } of found) {
          expect(item.metadata).toStrictEqual({ mimeType: 'image/png', width, height });
          expect(decodePng(content)).toStrictEqual({ width, height, data });
        }
      }),
      runs(40),
    );
  });

  test('a file of an image stays what it is', async () => {
    const { media, session } = await start();
    const jpeg = Uint8Array.of(
      0xff,
      0xd8,
      0xff,
      0xe0,
      0,
      4,
      1,
      2,
      0xff,
      0xc0,
      0,
      11,
      8,
      0,
      3,
      0,
      5,
      1,
      1,
      1,
      1,
    );
    await media.logImage('photo', jpeg);
    await media.logImage('blob', new Blob([jpeg]));
    for (const { content, item } of await readBack(session, 'image')) {
      expect(item.metadata).toStrictEqual({ mimeType: 'image/jpeg', width: 5, height: 3 });
      expect(content).toStrictEqual(jpeg);
    }
  });

  test('sound, to 16 bits', async () => {
    const channels = fc
      .tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 1, max: 3 }))
      .chain(([frames, count]) =>
        fc.array(
          fc.float32Array({ min: -1, max: 1, noNaN: true, minLength: frames, maxLength: frames }),
          { minLength: count, maxLength: count },
        ),
      );
    await fc.assert(
      fc.asyncProperty(
        channels,
        fc.integer({ min: 1, max: 768_000 }),
        async (audio, sampleRate) => {
          const { media, session } = await start();
          await media.logAudio('beep', audio, { sampleRate });
          const [found] = await readBack(session, 'audio');
          expect(found?.item.metadata).toStrictEqual({
            sampleRate,
            channelCount: audio.length,
            frameCount: audio[0]?.length,
          });
          expect(found?.content.sampleRate).toBe(sampleRate);
          for (const [i, samples] of audio.entries())
            for (const [frame, value] of samples.entries())
              expect(Math.abs((found?.content.channels[i]?.[frame] ?? 9) - value)).toBeLessThan(
                1 / 32_767,
              );
        },
      ),
      runs(40),
    );
  });

  test('texts and tables', async () => {
    const cell = fc.oneof(fc.string({ unit: 'grapheme' }), finite, fc.boolean(), fc.constant(null));
    const table = fc.uniqueArray(fc.string(), { maxLength: 5 }).chain((columns) =>
      fc
        .array(fc.array(cell, { minLength: columns.length, maxLength: columns.length }), {
          maxLength: 6,
        })
        .map((rows) => ({ columns, rows })),
    );
    await fc.assert(
      fc.asyncProperty(table, fc.string({ unit: 'grapheme' }), async (content, text) => {
        const { media, session } = await start();
        await media.logTable('rows', content, { metadata: { split: 'val' } });
        await media.logText('words', text, { format: 'markdown', epoch: 3 });
        const [rows] = await readBack(session, 'table');
        const [words] = await readBack(session, 'text');
        expect(rows?.content).toEqual(JSON.parse(JSON.stringify(content)));
        expect(rows?.item).toMatchObject({
          user: { split: 'val' },
          metadata: { columns: content.columns },
        });
        expect(words).toMatchObject({
          content: text,
          item: { epoch: 3, metadata: { format: 'markdown', charCount: text.length } },
        });
      }),
      runs(30),
    );
  });

  test('a list of objects is a table', async () => {
    const { media, session } = await start();
    await media.logTable('rows', [
      { name: 'a', loss: 1 },
      { loss: 2, extra: true },
    ]);
    const [found] = await readBack(session, 'table');
    expect(found?.content).toStrictEqual({
      columns: ['name', 'loss', 'extra'],
      rows: [
        ['a', 1, null],
        [null, 2, true],
      ],
    });
  });

  test('embeddings, as float32', async () => {
    const vectors = fc
      .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 8 }))
      .chain(([dimensions, count]) =>
        fc.array(fc.array(finite, { minLength: dimensions, maxLength: dimensions }), {
          minLength: count,
          maxLength: count,
        }),
      );
    await fc.assert(
      fc.asyncProperty(vectors, async (list) => {
        const { media, session } = await start();
        const labels = list.map((_, i) => `word ${i}`);
        await media.embedding('listed', { vectors: list, labels });
        const flat = Float32Array.from(list.flat());
        const dimensions = list[0]?.length ?? 1;
        await media.embedding('flat', { vectors: flat, dimensions });
        const [second, first] = await readBack(session, 'embedding');
        expect(first?.content).toStrictEqual({ vectors: flat, dimensions, labels });
        expect(second?.content).toStrictEqual({ vectors: flat, dimensions, labels: null });
        expect(first?.item.metadata).toStrictEqual({ vectorCount: list.length, dimensions });
      }),
      runs(40),
    );
  });
});

describe('what a classifier gets right', () => {
  const examples = fc.array(
    fc.record({
      label: fc.constantFrom(0, 1),
      score: fc.integer({ min: 0, max: 6 }).map((value) => value / 6),
    }),
    { minLength: 1, maxLength: 40 },
  );

  test('confusion matrices count pairs', async () => {
    const { media, session } = await start();
    await media.confusionMatrix(
      'val',
      { labels: [0, 1, 2, 1], predictions: [0, 2, 2, 1], classes: ['a', 'b', 'c'] },
      { step: 1 },
    );
    await media.confusionMatrix(
      'val',
      {
        counts: [
          [3, 1],
          [0, 6],
        ],
      },
      { step: 2 },
    );
    const [first, second] = await readBack(session, 'confusion_matrix');
    expect(first?.content).toStrictEqual({
      classes: ['a', 'b', 'c'],
      counts: [
        [1, 0, 0],
        [0, 1, 1],
        [0, 0, 1],
      ],
    });
    expect(first?.item.metadata).toStrictEqual({ classCount: 3, exampleCount: 4, accuracy: 0.75 });
    expect(second?.item).toMatchObject({ step: 2, metadata: { accuracy: 0.9 } });
  });

  test('the area below a ROC curve is the chance that a positive is ranked above a negative', async () => {
    await fc.assert(
      fc.asyncProperty(examples, async (list) => {
        const { media, session } = await start();
        const given = {
          labels: list.map(({ label }) => label),
          scores: list.map(({ score }) => score),
        };
        await media.rocCurve('roc', given);
        const [found] = await readBack(session, 'roc_curve');
        let wins = 0;
        let pairs = 0;
        for (const a of list)
          for (const b of list)
            if (a.label === 1 && b.label === 0) {
              pairs++;
              wins += a.score > b.score ? 1 : a.score === b.score ? 0.5 : 0;
            }
        if (pairs === 0) expect(found?.item.metadata.area).toBeNull();
        else expect(found?.item.metadata.area).toBeCloseTo(wins / pairs, 12);
        expect(found?.content.thresholds[0]).toBe(Infinity);
        expect(found?.content.truePositiveRate.at(-1)).toBe(
          list.some(({ label }) => label === 1) ? 1 : 0,
        );
      }),
      runs(60),
    );
  });

  test('precision and recall are those of each threshold', async () => {
    await fc.assert(
      fc.asyncProperty(examples, async (list) => {
        const { media, session } = await start();
        await media.prCurve('pr', {
          labels: list.map(({ label }) => label === 1),
          scores: list.map(({ score }) => score),
        });
        const [found] = await readBack(session, 'pr_curve');
        const positives = list.filter(({ label }) => label === 1).length;
        let area = 0;
        let before = 0;
        for (const [i, threshold] of (found?.content.thresholds ?? []).entries()) {
          const taken = list.filter(({ score }) => score >= threshold);
          const right = taken.filter(({ label }) => label === 1).length;
          expect(found?.content.precision[i]).toBe(right / taken.length);
          expect(found?.content.recall[i]).toBe(positives === 0 ? 0 : right / positives);
          area += (right / taken.length) * (right / Math.max(1, positives) - before);
          before = right / Math.max(1, positives);
        }
        if (positives > 0) expect(found?.item.metadata.area).toBeCloseTo(area, 12);
      }),
      runs(60),
    );
  });

  test('a long curve has the points that were asked for, and the area of all', async () => {
    const { media, session } = await start();
    const scores = Float64Array.from({ length: 5000 }, (_, i) => Math.sin(i));
    const labels = scores.map((score, i) => (score + Math.cos(i * 7) > 0 ? 1 : 0));
    await media.rocCurve('few', { labels, scores }, { maxPoints: 10 });
    await media.rocCurve('many', { labels, scores });
    const [few, many] = await readBack(session, 'roc_curve');
    expect(few?.content.thresholds).toHaveLength(10);
    expect(many?.content.thresholds).toHaveLength(1000);
    expect(few?.item.metadata.area).toBe(many?.item.metadata.area);
    expect([
      few?.content.truePositiveRate.at(-1),
      few?.content.falsePositiveRate.at(-1),
    ]).toStrictEqual([1, 1]);
  });
});

describe('wrong input', () => {
  test.each([
    [
      'image.data.length',
      (media: MediaLogger) =>
        media.logImage('a', { data: new Uint8Array(5), width: 2, height: 2, channels: 1 }),
    ],
    [
      'image.data[1]',
      (media: MediaLogger) =>
        media.logImage('a', { data: Float32Array.of(0, 7), width: 2, height: 1 }),
    ],
    ['image', (media: MediaLogger) => media.logImage('a', Uint8Array.of(1, 2, 3))],
    [
      'image.width',
      (media: MediaLogger) =>
        media.logImage('a', { data: new Uint8Array(1), width: 1e9, height: 1e9 }),
    ],
    [
      'audio[0][1]',
      (media: MediaLogger) =>
        media.logAudio('a', Float32Array.of(0, Number.NaN), { sampleRate: 8 }),
    ],
    [
      'audio[1].length',
      (media: MediaLogger) =>
        media.logAudio('a', [new Float32Array(2), new Float32Array(3)], { sampleRate: 8 }),
    ],
    [
      'options.sampleRate',
      (media: MediaLogger) => media.logAudio('a', new Float32Array(2), { sampleRate: 0.5 }),
    ],
    [
      'table.rows[0][0]',
      (media: MediaLogger) => media.logTable('a', { columns: ['x'], rows: [[Number.NaN]] }),
    ],
    [
      'table.rows[0]',
      (media: MediaLogger) => media.logTable('a', { columns: ['x'], rows: [[1, 2]] }),
    ],
    [
      'table.columns',
      (media: MediaLogger) => media.logTable('a', { columns: ['x', 'x'], rows: [] }),
    ],
    [
      'matrix.labels[1]',
      (media: MediaLogger) =>
        media.confusionMatrix('a', { labels: [0, 2], predictions: [0, 1], classes: ['x', 'y'] }),
    ],
    [
      'matrix.counts[0][1]',
      (media: MediaLogger) =>
        media.confusionMatrix('a', {
          counts: [
            [1, -1],
            [0, 0],
          ],
        }),
    ],
    [
      'examples.labels[0]',
      (media: MediaLogger) => media.prCurve('a', { labels: [2], scores: [1] }),
    ],
    [
      'examples.scores.length',
      (media: MediaLogger) => media.rocCurve('a', { labels: [1, 0], scores: [1] }),
    ],
    [
      'options.maxPoints',
      (media: MediaLogger) => media.rocCurve('a', { labels: [1], scores: [1] }, { maxPoints: 1 }),
    ],
    [
      'embedding.vectors[1]',
      (media: MediaLogger) => media.embedding('a', { vectors: [[1], [1, 2]] }),
    ],
    [
      'embedding.labels',
      (media: MediaLogger) => media.embedding('a', { vectors: [[1]], labels: [] }),
    ],
    [
      'options.steps',
      (media: MediaLogger) => media.logText('a', 'b', Object.assign({}, { steps: 1, step: 1 })),
    ],
    ['step', (media: MediaLogger) => media.logText('a', 'b', { step: -1 })],
    ['name', (media: MediaLogger) => media.logText('../a', 'b')],
  ])('%s is named, and nothing is stored', async (field, log) => {
    const { media, session } = await start();
    await expect(log(media)).rejects.toMatchObject({ code: 'invalid_input', details: { field } });
    await session.endRun();
    expect(await (await openRun(session.store, session.runId)).readArtifacts()).toStrictEqual([]);
  });
});

describe('reading', () => {
  test('lists media by name and step, and says what is damaged or of others', async () => {
    const { media, session } = await start();
    for (const step of [20, 10, 30]) await media.logText('note', `at ${step}`, { step });
    await media.logText('other', 'x');
    await new ArtifactStore(session).store('image', 'mine', {
      what: 'an artifact of this type, of the program',
    });
    await session.endRun();
    const run = await openRun(session.store, session.runId);
    const { items, problems } = await readMedia(run);
    expect(items.map(({ key, step }) => [key, step])).toStrictEqual([
      ['note', 10],
      ['note', 20],
      ['note', 30],
      ['other', null],
    ]);
    expect(problems).toStrictEqual([
      expect.stringContaining('mine: The metadata of an artifact of type image'),
    ]);
    expect(
      (await readMedia(run, { artifactKey: 'note', stepMin: 15, limit: 1 })).items,
    ).toHaveLength(1);
    // @ts-expect-error: that is what is tested
    await expect(readMedia(run, { kinds: ['film'] })).rejects.toThrow(/filter\.kinds/);
  });

  test('payloads that are not what they should be are corrupt', async () => {
    const { media, session } = await start();
    await media.logText('note', 'words');
    const [found] = await readBack(session, 'text');
    const run = await openRun(session.store, session.runId);
    const record = found?.item.record;
    if (record === undefined) throw new Error('it was logged');
    for (const kind of [
      'distribution',
      'image',
      'audio',
      'table',
      'confusion_matrix',
      'pr_curve',
      'roc_curve',
      'embedding',
    ] as const)
      await expect(loadMedia(run, { kind, record })).rejects.toMatchObject({
        code: 'store_failed',
      });
  });

  test('an image under way when the run ends is stored', async () => {
    const { media, session } = await start();
    const work = media.logImage('last', { data: new Uint8Array(4), width: 2, height: 2 });
    await session.endRun();
    await work;
    expect(await readBack(session, 'image')).toHaveLength(1);
  });

  test('media and consoles are part of .quark files', async () => {
    const { media, session } = await start();
    const capture = captureConsole(session, { own: false });
    await media.logImage('a', { data: new Uint8Array(4), width: 2, height: 2 }, { step: 1 });
    await capture.stop();
    await session.endRun();
    const parts: Uint8Array[] = [];
    for await (const part of exportQuark(await openRun(session.store, session.runId)))
      parts.push(part);
    const { reader } = await imported([
      bytesInput('run.quark', new Uint8Array(Buffer.concat(parts))),
    ]);
    if (reader === undefined) throw new Error('it was imported');
    const { items } = await readMedia(reader, { kinds: ['image'] });
    expect(items.map(({ key, step }) => [key, step])).toStrictEqual([['a', 1]]);
    const [item] = items;
    if (item !== undefined) expect(decodePng(await loadMedia(reader, item)).data).toHaveLength(4);
    expect((await readConsole(reader)).problems).toStrictEqual([]);
  });
});
