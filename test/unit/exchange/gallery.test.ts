/** The index of a gallery: what a list needs of a run, and nothing that leads out of the folder. */
import fc from 'fast-check';
import { createMemoryStore, MetricsLogger, openRun, startRun, type RunReader } from 'quark-sdk';
import { galleryRun, galleryText, readGallery } from 'quark-sdk/exchange';
import { expect, test } from 'vitest';

async function recorded(config: Record<string, string> = {}, notes = ''): Promise<RunReader> {
  const store = createMemoryStore();
  const session = await startRun({
    project: 'digits',
    name: 'first',
    storage: store,
    config,
    ...(notes !== '' && { notes }),
    handleSignals: false,
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 500; step++) {
    metrics.log('train/loss', step === 7 ? Number.NaN : 1 / (step + 1), { step });
    metrics.log('accuracy', step / 500, { step });
  }
  await session.endRun();
  return openRun(store, session.runId);
}

/** An index with one entry, some fields of which are replaced. */
async function indexWith(part: object): Promise<unknown> {
  const reader = await recorded();
  const text = galleryText('Digits', [await galleryRun(reader, 'runs/a.quark', 10)]);
  const { gallery } = JSON.parse(text) as { gallery: { runs: object[] } };
  return { ...gallery, runs: gallery.runs.map((one) => ({ ...one, ...part })) };
}

test('an entry has what lists show: configuration, last values, a small curve of the loss', async () => {
  const reader = await recorded({ optimizer: 'adam' });
  const text = galleryText('Digits', [await galleryRun(reader, 'runs/a.quark', 10)]);
  const { gallery } = JSON.parse(text) as { gallery: unknown };
  const { problems, runs, title } = readGallery(gallery);
  expect({ title, problems }).toEqual({ title: 'Digits', problems: [] });
  const [one] = runs;
  expect(one).toMatchObject({ file: 'runs/a.quark', bytes: 10, run: { projectName: 'digits' } });
  const document = JSON.parse(one?.run.document ?? '') as Record<string, object>;
  expect(document).toMatchObject({ name: 'first', config: { optimizer: 'adam' } });
  expect(document['metric_summaries']).toHaveProperty('accuracy');
  expect(Object.keys(document['environment'] ?? {}).filter((name) => name !== 'hostname')).toEqual(
    [],
  );
  expect(one?.curves.map(({ key }) => key)).toEqual(['train/loss']);
  expect(one?.curves[0]?.values.length).toBeGreaterThan(10);
  expect(one?.curves[0]?.values.every(Number.isFinite)).toBe(true);
});

test('an entry stays small whatever the run has', async () => {
  const long = Object.fromEntries(
    Array.from({ length: 500 }, (_, at) => [`key${at}`, 'x'.repeat(400)]),
  );
  const entry = await galleryRun(await recorded(long, 'n'.repeat(50_000)), 'runs/a.quark', 10);
  expect(entry.run.document.length).toBeLessThanOrEqual(64 * 1024);
  expect(JSON.parse(entry.run.document)).toMatchObject({ name: 'first', status: 'completed' });
});

test.each([
  'https://evil.example/a.quark',
  '//evil.example/a.quark',
  '/etc/a.quark',
  '../a.quark',
  'runs/../../a.quark',
  'runs/%2e%2e/a.quark',
  'runs\\..\\a.quark',
  'javascript:alert(1)//.quark',
  'data:x/a.quark',
  'runs/a.quark?x=.quark',
  'runs/a.quark#.quark',
  'runs/.hidden/a.quark',
  ' runs/a.quark',
  'runs/a.html',
  `${'a/'.repeat(20)}a.quark`,
])('a file that leads elsewhere is left out: %s', async (file) => {
  const { problems, runs } = readGallery(await indexWith({ file }));
  expect(runs).toEqual([]);
  expect(problems[0]).toContain('gallery.runs[0].file');
});

test('whatever path is taken stays below the folder of the index', () => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '', '%2e%2e', 'http:', '\\', 'a', 'b.quark', '~', '@x', ':80'),
    fc.string({ maxLength: 6 }),
  );
  const at = new URL('https://example.org/some/folder/quark.json');
  const run = {
    id: 'r',
    project_id: 'p',
    project_name: 'p',
    status: 'completed',
    started_at_ms: 1,
    tags: [],
    document: '{}',
    revision: 1,
  };
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
      const file = `${parts.join('/')}.quark`;
      for (const one of readGallery({ version: 1, runs: [{ file, bytes: 1, run }] }).runs)
        expect(new URL(one.file, at).href).toBe(`https://example.org/some/folder/${file}`);
    }),
    { seed: 5, numRuns: 2000 },
  );
});

test('wrong entries are left out and said, and a wrong index is refused', async () => {
  for (const part of [
    { bytes: -1 },
    { bytes: 'many' },
    { run: null },
    { run: { id: '../x' } },
    { run: { document: 'x'.repeat(70_000) } },
  ]) {
    const { problems, runs } = readGallery(await indexWith(part));
    expect(runs).toEqual([]);
    expect(problems).toHaveLength(1);
  }
  const curves = [{ key: 'loss', steps: [1], values: ['x'] }, { key: 1 }, null];
  expect(readGallery(await indexWith({ curves })).runs[0]?.curves).toEqual([]);
  for (const wrong of [null, [], 'x', { version: 2, runs: [] }, { version: 1, runs: {} }])
    expect(() => readGallery(wrong)).toThrow(/gallery/);
  const one = (await indexWith({})) as { runs: object[] };
  const twice = readGallery({ ...one, runs: [...one.runs, ...one.runs] });
  expect(twice.runs).toHaveLength(1);
  expect(twice.problems[0]).toContain('once');
});
