/** Small binary files that would make much work: each ends, is refused or read, and takes no more memory and entries than its limits say. */
import { brotliCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  i32,
  thriftList,
  struct,
  thriftText,
  thriftBytes,
} from '../../src/codecs/thrift/thrift-writer.ts';
import { importRuns } from '../../src/exchange/import/import-runs.ts';
import { bytesInput, watchInput } from '../../src/codecs/input.ts';
import { DEFAULT_IMPORT_LIMITS } from '../../src/codecs/limits.ts';
import { readParquetFooter } from '../../src/codecs/parquet/parquet-footer.ts';
import { parquetBatches } from '../../src/exchange/import/tables/parquet-table.ts';
import { createMemoryStore } from '../../src/index.ts';
import { TABLES } from '../../src/records/tables.ts';
import { countWork } from '../support/counted-work.ts';
import {
  bytesOf,
  crc32cByBits,
  event,
  field,
  masked,
  plugin,
  record,
  scalar,
  tensor,
  u32,
  varint,
  version,
} from '../support/event-file.ts';
import { footerFile, rising, sharedPageFile } from '../support/hostile-parquet.ts';
import { sqliteFile, type Cell } from '../support/hostile-sqlite.ts';

const MIB = 1 << 20;
const PLAIN = 0;
const UNCOMPRESSED = 0;
const BROTLI = 4;
const DELTA_BYTE_ARRAY = 7;

const repeated = (count: number, bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytesOf(...Array.from({ length: count }, () => bytes));
const brotli = (bytes: Uint8Array): Uint8Array => new Uint8Array(brotliCompressSync(bytes));
/** Run of `count` zeros, with its length before it. */
const zeroLevels = (count: number): Uint8Array<ArrayBuffer> => {
  const run = bytesOf(varint(count * 2), [0]);
  return bytesOf(u32(run.length), run);
};

const zeros = brotli(new Uint8Array(64 * MIB));
const shared = bytesOf(rising(11_000, 0, 1), rising(11_000, 1, 0), new Uint8Array(11_000));
const nulls = zeroLevels(16_000_000);

/** TensorBoard: a file of one record after the other. */
const tensorboard = (
  ...records: readonly Uint8Array[]
): Record<string, Uint8Array<ArrayBuffer>> => ({
  'events.out.tfevents.1.x': bytesOf(version(), record(event(1, scalar('loss', 1))), ...records),
});
/** A record that says how long it is, rightly or not, and does not hold it. */
const claims = (length: number): Uint8Array<ArrayBuffer> => {
  const size = bytesOf(u32(length), u32(0));
  return bytesOf(size, masked(size));
};

const HEADER = [0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0];
const chunk = (type: number, data: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytesOf(
    u32(crc32cByBits(bytesOf([type], data), 0xedb88320)),
    [data.length & 255, data.length >> 8, type],
    data,
  );
const wandb = (...parts: readonly Uint8Array[]): Record<string, Uint8Array<ArrayBuffer>> => ({
  'wandb/run-1/run-a.wandb': bytesOf(HEADER, ...parts),
});
const history = (key: string, json: string): Uint8Array<ArrayBuffer> =>
  field.bytes(2, field.bytes(1, field.text(1, key), field.text(16, json)));
const leaves = `{${Array.from({ length: 2_000 }, (_, i) => `"${i}":1`).join()}}`;
const nested = (depth: number): Uint8Array<ArrayBuffer> => {
  let value = field.double(2, 1);
  for (let i = 0; i < depth; i++) value = field.bytes(6, field.bytes(1, value));
  return value;
};

const METRICS: Cell = {
  root: 2,
  sql: 'CREATE TABLE metrics (run_name TEXT, metrics TEXT, step INT)',
};
const wide = `CREATE TABLE metrics (run_name TEXT, metrics TEXT${',a'.repeat(10_000)})`;

/** Name, files, what the import says (null: nothing), and MiB of arrays that may be made for it. */
const CASES: readonly (readonly [
  string,
  () => Record<string, Uint8Array<ArrayBuffer>>,
  RegExp | null,
  number,
])[] = [
  [
    'Parquet: thousands of row groups of one page of 64 MiB',
    () => ({
      'a.parquet': sharedPageFile({
        type: 'DOUBLE',
        codec: BROTLI,
        encoding: PLAIN,
        packed: zeros,
        unpacked: 64 * MIB,
        values: 1,
      }),
    }),
    /the pages of a\.parquet become more than \d+ bytes.*limits\.maxCellsPerByte/,
    700,
  ],
  [
    'Parquet: pages of 16 million nulls',
    () => ({
      'a.parquet': sharedPageFile({
        type: 'DOUBLE',
        codec: UNCOMPRESSED,
        encoding: PLAIN,
        packed: nulls,
        unpacked: nulls.length,
        values: 16_000_000,
        isOptional: true,
      }),
    }),
    /the pages of a\.parquet become more than \d+ values.*limits\.maxCellsPerByte/,
    700,
  ],
  [
    'Parquet: texts that share their beginnings',
    () => ({
      'a.parquet': sharedPageFile({
        type: 'BYTE_ARRAY',
        codec: BROTLI,
        encoding: DELTA_BYTE_ARRAY,
        packed: brotli(shared),
        unpacked: shared.length,
        values: 11_000,
      }),
    }),
    /the pages of a\.parquet become more than/,
    700,
  ],
  [
    'Parquet: a long name around thousands of columns',
    () => ({
      'a.parquet': footerFile(
        thriftBytes([
          [
            2,
            thriftList('struct', [
              struct([4, thriftText('schema')], [5, i32(1)]),
              struct([4, thriftText('n'.repeat(20_000))], [5, i32(9_000)]),
              ...Array.from({ length: 9_000 }, () => struct([1, i32(5)], [4, thriftText('x')])),
            ]),
          ],
        ]),
      ),
    }),
    /the names of its columns.*limits\.maxFooterBytes/,
    16,
  ],
  [
    'Parquet: a list that is longer than the file',
    () => ({ 'a.parquet': footerFile(bytesOf([0x29, 0xfc], varint(2 ** 31), [0, 0, 0, 0])) }),
    /longer than the rest/,
    16,
  ],
  [
    'TFRecord: a record of 64 MiB that is not there',
    () => tensorboard(claims(60 * MIB), new Uint8Array(50_000)),
    /cut off/,
    16,
  ],
  [
    'TFRecord: records that lie in one another',
    () => tensorboard(repeated(4_000, claims(40_000)), new Uint8Array(40_000)),
    /agree with its checksum/,
    16,
  ],
  [
    'TensorBoard: histograms of one number that is repeated',
    () =>
      tensorboard(
        record(event(2, tensor('h', 2, [1, 3], field.double(6, 1), plugin('histograms')))),
        ...Array.from({ length: 700 }, (_, i) =>
          record(event(i + 3, tensor('h', 2, [5_461, 3], field.double(6, 1)))),
        ),
      ),
    /too large/,
    16,
  ],
  [
    'TensorBoard: hyperparameters in lists in lists',
    () =>
      tensorboard(
        record(
          event(
            2,
            bytesOf(
              field.text(1, '_hparams_/session_start_info'),
              plugin(
                'hparams',
                field.bytes(3, field.bytes(1, field.text(1, 'a'), field.bytes(2, nested(2_000)))),
              ),
            ),
          ),
        ),
      ),
    null,
    16,
  ],
  [
    'W&B: records of chunks without bytes',
    () =>
      wandb(
        chunk(1, history('loss', '1')),
        chunk(2, new Uint8Array(0)),
        repeated(4_600, chunk(3, new Uint8Array(0))),
      ),
    /cut off|left out/,
    16,
  ],
  [
    'W&B: a long key around many values',
    () => wandb(chunk(1, bytesOf(history('loss', '1'), history('k'.repeat(15_000), leaves)))),
    /left out/,
    16,
  ],
  [
    'SQLite: rows of a few bytes in a table of 10,000 columns',
    () => ({
      'demo.db': sqliteFile([
        { kind: 'schema', tables: [{ root: 2, sql: wide }] },
        { kind: 'rows', count: 10_000, cell: [1, 1, 0] },
      ]),
    }),
    /JSON|larger than it/,
    16,
  ],
  [
    'SQLite: a row of 2^56 bytes',
    () => ({
      'demo.db': sqliteFile([
        { kind: 'schema', tables: [METRICS] },
        { kind: 'rows', count: 1, cell: [...new Array<number>(8).fill(0xff), 0x7f, 1, 0] },
      ]),
    }),
    /damaged/,
    16,
  ],
  [
    'SQLite: rows whose pages lead back to themselves',
    () => ({
      'demo.db': sqliteFile([
        { kind: 'schema', tables: [METRICS] },
        { kind: 'overflow', count: 5_000, size: 1_000_000 },
      ]),
    }),
    /larger than it|damaged/,
    16,
  ],
  [
    'SQLite: a tree of one page',
    () => ({
      'demo.db': sqliteFile([
        { kind: 'schema', tables: [METRICS] },
        { kind: 'tree', count: 5_000, child: 2 },
      ]),
    }),
    /lead back to themselves/,
    16,
  ],
];

describe('100 KB of a binary format', () => {
  test.each(CASES)('%s', { timeout: 120_000 }, async (_name, make, said, mib) => {
    const files = make();
    let readBytes = 0;
    let size = 0;
    const inputs = Object.entries(files).map(([path, bytes]) => {
      size += bytes.length;
      return watchInput(bytesInput(path, bytes), {
        signal: undefined,
        read: (_path, count) => void (readBytes += count),
        failed: () => undefined,
      });
    });
    expect(size).toBeLessThan(140_000);
    const store = createMemoryStore();
    let reasons: string[] = [];
    const work = await countWork(async () => {
      const { problems } = await importRuns(inputs, store);
      reasons = problems.map(({ reason }) => reason);
    });
    if (said === null) expect(reasons).toEqual([]);
    else expect(reasons.join('\n')).toMatch(said);
    expect(reasons.length).toBeLessThanOrEqual(DEFAULT_IMPORT_LIMITS.maxProblems + 1);
    expect(work.arrayBytes).toBeLessThan(mib * MIB);
    expect(work.mapEntries).toBeLessThan(4 * size + 100_000);
    expect(work.keyChars).toBeLessThan(64 * size + 1_000_000);
    expect(readBytes).toBeLessThan(64 * size + 300 * MIB);
    let stored = 0;
    for (const { id: runId, document } of await store.listRuns()) {
      stored += document.length;
      for (const table of ['metrics', 'events', 'artifacts'])
        for (const { sizeBytes } of await store.listSegments({ runId, table })) stored += sizeBytes;
    }
    expect(stored).toBeLessThan(4 * size + 100_000);
  });
});

test('a text of a dictionary that a million cells point at is no table of ours', async () => {
  const table = TABLES.get('events');
  if (table === undefined) throw new Error('events');
  // One text of 50 KB, a dictionary page with it, and a run of 65,536 positions of no bits.
  const long = bytesOf(u32(50_000), new Uint8Array(50_000).fill(0x61));
  const header = (type: number, unpacked: number, values: number): Uint8Array<ArrayBuffer> =>
    thriftBytes([
      [1, i32(type)],
      [2, i32(unpacked)],
      [3, i32(unpacked)],
      [type === 2 ? 7 : 5, struct([1, i32(values)], [2, i32(type === 2 ? 0 : 8)])],
    ]);
  const positions = bytesOf([1], varint(65_536 * 2), [0]);
  const pages = bytesOf(
    header(2, long.length, 1),
    long,
    header(0, positions.length, 65_536),
    positions,
  );
  const footer = thriftBytes([
    [
      2,
      thriftList('struct', [
        struct([4, thriftText('schema')], [5, i32(1)]),
        struct([1, i32(6)], [3, i32(0)], [4, thriftText('payload')]),
      ]),
    ],
    [3, i32(65_536)],
    [
      4,
      thriftList('struct', [
        struct(
          [
            1,
            thriftList('struct', [
              struct([
                3,
                struct([4, i32(0)], [5, i32(65_536)], [7, i32(pages.length)], [9, i32(4)]),
              ]),
            ]),
          ],
          [3, i32(65_536)],
        ),
      ]),
    ],
  ]);
  const file = bytesInput(
    'events.parquet',
    bytesOf([80, 65, 82, 49], pages, footer, u32(footer.length), [80, 65, 82, 49]),
  );
  const limits = DEFAULT_IMPORT_LIMITS;
  const reasons: string[] = [];
  const found = await readParquetFooter(file, limits);
  for await (const batch of parquetBatches(
    table,
    file,
    found,
    limits,
    (_place, reason) => void reasons.push(reason),
  ))
    throw new Error(`${batch.rowCount} rows were read`);
  expect(reasons).toHaveLength(1);
  expect(reasons[0]).toMatch(/the pages of events\.parquet become more than/);
});
