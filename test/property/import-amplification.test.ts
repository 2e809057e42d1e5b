/** Small files that would make much work, for every decoder of text: each ends at once, is refused or read, and writes no more than it holds. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { exportQuark, exportTableArrow, exportTableParquet } from '../../src/exchange.ts';
import { importRuns } from '../../src/exchange/import/import-runs.ts';
import { bytesInput, watchInput } from '../../src/codecs/input.ts';
import { parseLenientJson } from '../../src/codecs/json/lenient-json.ts';
import { parseYaml } from '../../src/codecs/yaml/yaml.ts';
import { createMemoryStore } from '../../src/index.ts';
import {
  FILE_END_BYTES,
  fileEnd,
  readFileEnd,
  readIndex,
} from '../../src/codecs/quark/quark-file.ts';
import { importText } from '../support/imported.ts';
import { bytesOf, recordRun, validBatch } from '../support/recorded-run.ts';
import { metricTable } from '../../src/records/metric.ts';
import fc from 'fast-check';

afterEach(() => vi.restoreAllMocks());

const fill = (part: string, chars: number): string => part.repeat(Math.floor(chars / part.length));
const KB100 = 100_000;
const MLFLOW = {
  'm/1/meta.yaml': 'experiment_id: 1\n',
  'm/1/r/metrics/loss': '1700000000000 1 1\n',
};
const mlflow = (yaml: string): Record<string, string> => ({
  ...MLFLOW,
  'm/1/r/meta.yaml': `run_id: r\n${yaml}`,
});
const row = '{"step":1,"loss":1}';

/** Name, files, and what the import says of it; null where all of it can be read. */
const CASES: readonly (readonly [string, Record<string, string>, RegExp | null])[] = [
  [
    'JSON list: a number without end',
    { 'a.jsonl': `${row}\n{"step":2,"loss":${fill('9', KB100)}}\n` },
    /digits/,
  ],
  [
    'JSON list: digits behind a point',
    { 'a.jsonl': `${row}\n{"step":2,"loss":0.${fill('9', KB100)}}\n` },
    /digits/,
  ],
  [
    'JSON: a number in an item',
    { 'trainer_state.json': `{"log_history":[${row},{"step":2,"loss":${fill('1', KB100)}}]}` },
    /digits/,
  ],
  [
    'JSON: a number in an entry',
    { 'trainer_state.json': `{"best_metric":${fill('1', KB100)},"log_history":[${row}]}` },
    /digits/,
  ],
  ['JSON: brackets', { 'a.jsonl': `${row}\n${fill('[', KB100)}\n` }, /nested more than 64/],
  ['JSON: objects', { 'a.jsonl': `${row}\n${fill('{"a":', KB100)}\n` }, /nested more than 64/],
  [
    'JSON: a text of escapes without end',
    { 'a.jsonl': `${row}\n{"step":2,"loss":NaN,"x":"${fill('\\"', KB100)}\n` },
    /no JSON/,
  ],
  [
    'JSON: a text of backslashes without end',
    { 'a.jsonl': `${row}\n{"loss":NaN,"x":"${fill('\\\\', KB100)}\n` },
    /no JSON/,
  ],
  ['JSON: quotes', { 'a.jsonl': `${row}\n{${fill('"a""b"', KB100)}\n` }, /no JSON/],
  [
    'JSON: a key of 100 KB',
    { 'a.jsonl': `${row}\n{"step":2,"${fill('k', KB100 - 100)}":1}\n` },
    /left out/,
  ],
  ['JSON: minus signs', { 'a.jsonl': `${row}\n{"loss":${fill('-', KB100)}}\n` }, /no JSON/],
  [
    'YAML: brackets over lines',
    mlflow(`x:\n${fill('- [[\n', KB100 / 2)}${fill(']\n', KB100 / 2)}`),
    /brackets/,
  ],
  ['YAML: brackets on a line', mlflow(`x: ${fill('[', KB100)}\n`), /brackets/],
  ['YAML: dashes', mlflow(`x:\n  ${fill('- ', KB100)}\n`), /nested more than 64/],
  ['YAML: quotes without end', mlflow(fill('k: "\n  \'x\n', KB100)), /quotes/],
  [
    'YAML: aliases of aliases',
    mlflow(`a: &a [x,x]\n${fill('b: &b [*a,*a,*a,*a,*a,*a]\n', KB100)}`),
    /second/,
  ],
  ['YAML: a number without end', mlflow(`k: ${fill('1', KB100)}\n`), null],
  ['CSV: columns', { 'a.csv': `step,loss${fill(',a', KB100)}\n1,2\n` }, /maxColumns/],
  [
    'CSV: quotes',
    { 'a.csv': `step,loss\n1,2\n${fill('1,"\n', KB100)}` },
    /text, which is no metric/,
  ],
  [
    'CSV: a number without end',
    { 'a.csv': `step,loss\n1,2\n2,${fill('9', KB100)}\n3,4\n` },
    /text, which is no metric/,
  ],
  [
    'log: pairs without values',
    { 'a.log': `step 1 loss=1\nstep 2 loss=2\n${fill('a a a a ', KB100)}\n` },
    null,
  ],
  [
    'log: blanks around colons',
    { 'a.log': `step 1 loss=1\nstep 2 loss=2\n${fill('loss        :        ', KB100)}\n` },
    null,
  ],
  [
    'log: columns without end',
    {
      'a.log': `step 1 loss=1\nstep 2 loss=2\niteration 2/10 | ${fill('|                   ', KB100)}\n`,
    },
    null,
  ],
  [
    'log: bars',
    { 'a.log': `step 1 loss=1\nstep 2 loss=2\n${fill(`1/1 ${fill('1s 1ms ', 220)}\n`, KB100)}` },
    null,
  ],
  ['log: digits', { 'a.log': `step 1 loss=1\nstep 2 loss=2\nloss=${fill('1', KB100)}\n` }, null],
];

describe('100 KB of text', () => {
  test.each(CASES)('%s', { timeout: 60_000 }, async (_name, files, said) => {
    const chars = vi.spyOn(String, 'fromCharCode');
    let readBytes = 0;
    let size = 0;
    const inputs = Object.entries(files).map(([path, text]) => {
      const file = bytesInput(path, text);
      size += file.sizeBytes;
      return watchInput(file, {
        signal: undefined,
        read: (_path, bytes) => void (readBytes += bytes),
        failed: () => undefined,
      });
    });
    const store = createMemoryStore();
    const report = await importRuns(inputs, store);
    const reasons = report.problems.map(({ reason }) => reason).join('\n');
    if (said === null) expect(reasons).toBe('');
    else expect(reasons).toMatch(said);
    // Each byte is read for its format, for the identity of its run, and to be imported.
    expect(readBytes).toBeLessThanOrEqual(4 * size);
    expect(chars.mock.calls.length).toBeLessThanOrEqual(2 * size);
    let stored = 0;
    for (const { id: runId, document } of await store.listRuns()) {
      stored += document.length;
      for (const table of ['metrics', 'events', 'artifacts'])
        for (const { sizeBytes } of await store.listSegments({ runId, table })) stored += sizeBytes;
    }
    expect(stored).toBeLessThanOrEqual(2 * size + 100_000);
    for (const { reason } of report.problems) expect(reason.length).toBeLessThan(1_000);
  });
});

// The square of these sizes is hours of work: that they end at all is the assertion.
describe('megabytes of text end', () => {
  test('texts of escapes without an end', { timeout: 60_000 }, () => {
    for (const part of ['\\"', '\\\\', '\\"x"'])
      expect(() => parseLenientJson(`{"loss":NaN,"x":"${fill(part, 8_000_000)}`, 64)).toThrow(
        /no JSON/,
      );
  });

  test('a number of 50 MB is no number, in JSON and in a table', { timeout: 60_000 }, async () => {
    expect(() => parseLenientJson(`{"loss":${fill('1', 50_000_000)}}`, 64)).toThrow(
      /more than 2048 digits/,
    );
    const chars = vi.spyOn(String, 'fromCharCode');
    const { report, runs } = await importText({
      'a.csv': `step,loss\n1,2\n2,${fill('9', 50_000_000)}\n3,4\n`,
    });
    expect(runs).toHaveLength(1);
    expect(report.problems).not.toEqual([]);
    expect(chars.mock.calls.length).toBeLessThan(10_000);
  });

  test('brackets of YAML over lines that fit nowhere', { timeout: 60_000 }, () => {
    const text = `x:\n${fill('- [[\n', 2_000_000)}${fill(']\n', 2_000_000)}`;
    expect(parseYaml(text, 64).problems.length).toBeGreaterThan(0);
  });
});

test('numbers as long as programs print them are numbers', () => {
  const long = `0.${fill('0', 1_000)}`;
  expect(
    parseLenientJson(
      `[${fill('1', 400)}.${fill('5', 1_000)},1e400,${long},NaN,"a NaN \\" b",-Infinity]`,
      4,
    ),
  ).toEqual([Infinity, Infinity, 0, Number.NaN, 'a NaN " b', -Infinity]);
});

describe('bytes behind the end', () => {
  const recorded = () => {
    const [batch] = fc.sample(validBatch(metricTable, 20), { numRuns: 1, seed: 9 });
    if (batch === undefined) throw new Error('no batch');
    return recordRun([['metrics', [batch]]]);
  };
  const joined = (...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Buffer.concat(parts));
  const rest = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);

  test('of an Arrow stream and of Parquet are refused', async () => {
    const reader = await recorded();
    const arrow = await bytesOf(exportTableArrow(reader, 'metrics'));
    const parquet = await bytesOf(exportTableParquet(reader, 'metrics'));
    for (const [path, bytes, reason] of [
      ['metrics.arrow', arrow, /follow the end/],
      ['metrics.parquet', parquet, /./],
    ] as const) {
      expect((await importText({ [path]: bytes })).report.problems).toEqual([]);
      const { report } = await importText({ [path]: joined(bytes, rest) });
      expect(report.runs).toEqual([]);
      const said = [...report.problems.map((one) => one.reason), ...report.unknownFiles].join();
      expect(said).toMatch(reason);
    }
  });

  test('of a .quark file, before its first part and between its parts are told', async () => {
    const bytes = await bytesOf(exportQuark(await recorded()));
    expect((await importText({ 'a.quark': bytes })).report.problems).toEqual([]);
    const behind = await importText({ 'a.quark': joined(bytes, rest) });
    expect(behind.report.problems[0]?.reason).toMatch(/index is damaged/);
    const end = readFileEnd(bytes.slice(-FILE_END_BYTES));
    if (end === undefined) throw new Error('no end');
    const entries = readIndex(bytes.slice(end.offset, -FILE_END_BYTES), end.checksum) ?? [];
    // A gap before the index, with an index and an end that know of it.
    const gap = joined(
      bytes.slice(0, end.offset),
      rest,
      fileEnd(entries, end.offset + rest.length),
    );
    const inside = await importText({ 'a.quark': gap });
    expect(inside.report.problems[0]?.reason).toMatch(/index is damaged/);
    expect(inside.report.runs).toMatchObject([{ isComplete: false }]);
  });
});
