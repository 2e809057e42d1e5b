import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gzip, tar, zip } from '../../support/archives.ts';
import { importText } from '../../support/imported.ts';
import { damaged } from '../../support/mutations.ts';
import { runs as settings } from '../../support/property.ts';

const CSV = 'step,loss\n1,2.5\n2,1.5\n';
const LOSS = {
  'train/loss': [
    [1, null, 2.5],
    [2, null, 1.5],
  ],
};
const swap = (unit: number, at: number, units: Uint16Array): void => {
  units[at] = (unit >> 8) | ((unit & 255) << 8);
};
const LONG = `${'a'.repeat(80)}/${'b'.repeat(80)}/metrics.csv`;

describe('packed files', () => {
  test.each([
    ['gzip', { 'run7.csv.gz': gzip(CSV) }],
    ['gzip without its name', { 'run7.csv': gzip(CSV) }],
    ['zip', { 'run7.zip': zip({ 'metrics.csv': CSV }) }],
    ['zip with a folder, stored', { 'x.zip': zip({ 'run7/metrics.csv!': CSV }) }],
    ['zip with 64-bit fields', { 'run7.zip': zip({ 'metrics.csv': CSV }, { isWide: true }) }],
    ['tar', { 'run7.tar': tar({ 'metrics.csv': CSV }) }],
    ['tar.gz', { 'run7.tar.gz': gzip(tar({ 'metrics.csv': CSV })) }],
    ['tgz', { 'run7.tgz': gzip(tar({ './metrics.csv': CSV })) }],
    ['gzip in zip', { 'all.zip': zip({ 'run7.csv.gz!': gzip(CSV) }) }],
    [
      'zip with what macOS adds',
      { 'run7.zip': zip({ '__MACOSX/._metrics.csv': 'x', 'metrics.csv': CSV, '.DS_Store': 'y' }) },
    ],
  ])('%s: what is in it is read', async (_, files) => {
    const { report, runs } = await importText(files);
    expect(report.problems).toEqual([]);
    expect(report.unknownFiles).toEqual([]);
    expect(runs.map(({ metrics, name }) => ({ metrics, name }))).toEqual([
      { metrics: LOSS, name: 'run7' },
    ]);
  });

  test.each(['utf-16le', 'utf-16be'] as const)('text in %s is read as UTF-8', async (label) => {
    const text = `step,loss,größe \ud83d\ude00\r\n1,2.5,a\r\n2,1.5,日本\r\n`;
    const bytes = new Uint8Array(Buffer.from(`\ufeff${text}`, 'utf16le'));
    if (label === 'utf-16be') new Uint16Array(bytes.buffer).forEach(swap);
    const { report, runs } = await importText({ 'run7.csv': bytes, 'run8.csv.gz': gzip(bytes) });
    const column = 'column "größe \ud83d\ude00"';
    expect(report.problems.map(({ place }) => place)).toEqual([column, column]);
    expect(runs.map(({ metrics }) => metrics)).toEqual([LOSS, LOSS]);
    const plain = await importText({ 'run7.csv': text });
    expect(plain.report.runs[0]?.runId).toBe(report.runs[0]?.runId);
  });

  test('what begins with the two bytes of UTF-16 and is no text is left as it is', async () => {
    const binary = Uint8Array.of(
      0xff,
      0xfe,
      ...Array.from({ length: 400 }, (_, i) => 255 - (i % 200)),
    );
    const wide = Uint8Array.of(0xff, 0xfe, 0, 0, 0x31, 0, 0, 0);
    const { report } = await importText({ 'a.bin': binary, 'b.bin': wide });
    expect(report.unknown.map(({ seen }) => seen)).toEqual([
      expect.stringMatching(/^402 bytes/),
      expect.stringMatching(/^8 bytes/),
    ]);
  });

  test.each(['gnu', 'pax'] as const)('names of over 100 characters in a tar: %s', async (kind) => {
    const { report } = await importText({ 'x.tar': tar({ [LONG]: CSV, 'c.csv': CSV }, kind) });
    expect(report.runs.map(({ files }) => files)).toEqual([[`x/${LONG}`], ['x/c.csv']]);
  });

  test('files of a folder in an archive belong together', async () => {
    const { report, runs } = await importText({
      'run.zip': zip({ 'v0/metrics.csv': CSV, 'v0/hparams.yaml': 'lr: 0.1\n' }),
    });
    expect(report.problems).toEqual([]);
    expect(runs[0]?.reader.run.config).toEqual({ lr: 0.1 });
  });

  test('a packed file and the same file beside it are two runs, each under its name', async () => {
    const { report } = await importText({ 'a.csv': CSV, 'a.csv.gz': gzip(CSV) });
    expect(report.runs.map(({ files }) => files)).toEqual([['a.csv'], ['a.csv.gz']]);
  });

  test('the run of a packed file is that of the file in it', async () => {
    const packed = await importText({ 'a.csv.gz': gzip(CSV) });
    const plain = await importText({ 'a.csv': CSV });
    expect(packed.report.runs[0]?.runId).toBe(plain.report.runs[0]?.runId);
  });

  test('of a file that is cut off what comes before is read, and the rest is reported', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i},${Math.sin(i)}`);
    const whole = gzip(`step,loss\n${lines.join('\n')}\n`);
    const { report, runs } = await importText({ 'a.csv.gz': whole.slice(0, whole.length >> 1) });
    const values = runs[0]?.metrics['train/loss'] ?? [];
    expect(values.length).toBeGreaterThan(5_000);
    expect(values.length).toBeLessThan(20_000);
    expect(values.slice(0, -1).every(([step, , value]) => value === Math.sin(step ?? -1))).toBe(
      true,
    );
    expect(report.problems.map(({ reason }) => reason)).toContainEqual(
      expect.stringMatching(/cut off or damaged after \d+ bytes/),
    );
    const tarred = tar({ 'a.csv': CSV, 'b.csv': `step,loss\n${lines.join('\n')}` });
    const cut = await importText({ 'x.tar': tarred.slice(0, 2000) });
    expect(cut.report.problems[0]?.reason).toMatch(/cut off or damaged/);
    expect(cut.report.runs.map(({ files }) => files[0])).toEqual(['x/a.csv', 'x/b.csv']);
  });

  test('a large file is inflated as it is read, in the memory of its parts', async () => {
    const comment = `# ${'x'.repeat(10_000)}\n`;
    const rows = Array.from({ length: 4000 }, (_, i) => `${i},0.5\n${comment}`);
    const { report } = await importText(
      {
        'a.csv.gz': gzip(`step,loss\n${rows.join('')}`),
        'b.zip': zip({ 'b.csv': 'step,loss\n1,2\n' }),
      },
      { limits: { maxUnpackedBytes: 50_000_000 } },
    );
    expect(report.problems).toEqual([]);
    expect(report.runs.map(({ rowCount }) => rowCount)).toEqual([4000, 1]);
  });

  test('bombs are refused: by bytes, by files, by levels', async () => {
    const zeros = new Uint8Array(4_000_000);
    const limits = { maxUnpackedBytes: 1_000_000 };
    const reasons = async (files: Record<string, Uint8Array<ArrayBuffer>>, more = {}) =>
      (await importText(files, { limits: { ...limits, ...more } })).report.problems.map(
        ({ reason }) => reason,
      );
    expect(await reasons({ 'a.gz': gzip(zeros) })).toEqual([
      'It holds more than 1000000 bytes (limits.maxUnpackedBytes).',
    ]);
    const half = 'x'.repeat(600_000);
    expect(await reasons({ 'a.zip': zip({ a: half, b: half }) })).toEqual([
      '"b" in it: It holds more than 400000 bytes (limits.maxUnpackedBytes).',
    ]);
    expect(await reasons({ 'a.zip': zip({ 'a!': half, 'b!': half }) })).toEqual([
      '"b" in it: It holds more than 1000000 bytes (limits.maxUnpackedBytes).',
    ]);
    expect(await reasons({ 'a.zip': zip({ a: CSV, b: CSV, c: CSV }) }, { maxFiles: 2 })).toEqual([
      'The archive cannot be read: it has 3 files; it may have 2 (limits.maxFiles).',
    ]);
    expect(await reasons({ 'a.tar': tar({ a: CSV, b: CSV, c: CSV }) }, { maxFiles: 2 })).toEqual([
      'The archive has more than 2 files (limits.maxFiles).',
    ]);
    const deep = gzip(gzip(gzip(gzip(CSV))));
    expect(await reasons({ 'a.csv.gz': deep })).toEqual([
      'It is packed more than 3 times: left out.',
    ]);
  });

  test('what is not read of an archive is named', async () => {
    const { report } = await importText({
      'secret.zip': zip({ 'a.csv': CSV }, { flags: 1 }),
      'cut.zip': zip({ 'a.csv': CSV }).slice(0, 40),
      'model.pt': zip({ 'archive/data.pkl': 'x', 'archive/data/0': 'y' }),
      'letter.docx': zip({ '[Content_Types].xml': '<x/>' }),
      'arrays.npz': zip({ 'a.npy': 'x' }),
    });
    expect(report.problems.map(({ file, reason }) => `${file}: ${reason}`)).toEqual([
      'secret.zip: "a.csv" in it is encrypted: left out.',
      'cut.zip: The archive cannot be read: its list of files is missing: it is cut off.',
    ]);
    expect(report.unknownFiles).toEqual(['model.pt', 'letter.docx', 'arrays.npz']);
  });

  test('files with nothing in them are named as what they are', async () => {
    const { report } = await importText({
      'events.out.tfevents.1': `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 48213\n`,
      'metrics.csv': '',
      'train.log': ' \n\n',
    });
    expect(report.problems.map(({ file, reason }) => `${file}: ${reason}`)).toEqual([
      'events.out.tfevents.1: This is a Git LFS pointer, the file itself is 48213 bytes: git lfs pull.',
      'metrics.csv: The file is empty.',
      'train.log: The file has nothing in it but blanks and line ends.',
    ]);
    expect(report.unknownFiles).toEqual([]);
  });

  test('whatever is damaged in an archive, an import ends', async () => {
    const inputs = [
      { 'a.csv.gz': gzip(CSV.repeat(50)) },
      { 'a.zip': zip({ 'a.csv': CSV, 'b/c.csv!': CSV }) },
      { 'b.zip': zip({ 'a.csv': CSV, 'b/c.csv!': CSV }, { isWide: true }) },
      { 'a.tar': tar({ 'a.csv': CSV, [LONG]: CSV }) },
    ];
    await fc.assert(
      fc.asyncProperty(damaged(inputs), async (files) => {
        expect(await importText(files)).toHaveProperty('report');
      }),
      settings(400),
    );
  });
});
