import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesInput, type InputFile } from '../../../src/codecs/input.ts';
import { damaged, damages } from '../../support/damage.ts';
import { bytesOf, crc32cByBits, field, u32 } from '../../support/event-file.ts';
import { imported } from '../../support/import-result.ts';
import { runs } from '../../support/property.ts';

const BLOCK = 32_768;
const HEADER = [0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0];
const FIXTURE = new Uint8Array(
  readFileSync(new URL('../../fixtures/wandb/run-abc123.wandb', import.meta.url)),
);
const input = (bytes: Uint8Array<ArrayBuffer>): InputFile =>
  bytesInput('wandb/run-1/run-abc123.wandb', bytes);

/** Zlib's CRC-32 of the type and the data, not masked. */
function chunk(type: number, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const crc = crc32cByBits(bytesOf([type], data), 0xedb88320);
  return bytesOf(u32(crc), [data.length & 255, data.length >> 8, type], data);
}

const item = (key: string, json: string): Uint8Array<ArrayBuffer> =>
  bytesOf(field.text(1, key), field.text(16, json));
const history = (step: number, ...items: readonly Uint8Array[]): Uint8Array<ArrayBuffer> =>
  field.bytes(
    2,
    ...items.map((bytes) => field.bytes(1, bytes)),
    field.bytes(2, field.varint(1, step)),
  );

describe('.wandb files', () => {
  test("made by W&B's own protocol buffers are read whole", async () => {
    const { report, reader, values, artifacts } = await imported([input(FIXTURE)]);
    expect(report.problems.map(({ reason }) => reason)).toEqual([
      'Of "sample" values of the type "image-file" are left out.',
    ]);
    expect(report.runs).toMatchObject([
      { name: 'brave-sky-7', project: 'vision', format: 'wandb', files: [expect.any(String)] },
    ]);
    expect(reader?.run).toMatchObject({
      status: 'failed',
      startedAt: new Date(1_700_000_000_500).toISOString(),
      config: { model: { depth: 3, width: 64 } },
      environment: {
        wandb: {
          run_id: 'abc123',
          entity: 'team',
          host: 'node-1',
          git: { commit: '0123456789abcdef', remote_url: 'https://example.org/repo.git' },
          settings: { cli_version: '0.30.0' },
          exit_code: 1,
        },
      },
    });
    expect(reader?.run.config).not.toHaveProperty('lr');
    expect(reader?.run.tags).toEqual(expect.arrayContaining(['baseline', 'small']));
    expect(await values('train/loss')).toEqual([
      [0, 4],
      [1, 2],
      [2, Number.NaN],
      [3, 1],
    ]);
    expect(await values('val/accuracy')).toEqual(
      [0, 0.25, 0.5, 0.75].map((value, i) => [i, value]),
    );
    expect((await values('val/deep/f1'))[0]).toEqual([0, Infinity]);
    const [, first] = (await reader?.readMetrics({ metricKey: 'train/loss' })) ?? [];
    expect(first).toMatchObject({ epoch: 0, timestamp: new Date(1_700_000_002_250).toISOString() });
    // What the summary repeats is no metric.
    expect((await reader?.metricKeys())?.filter((key) => key.startsWith('summary/'))).toEqual([
      'summary/best_acc',
    ]);
    expect(await values('summary/best_acc')).toEqual([[3, 0.75]]);
    expect(await artifacts('summary')).toMatchObject([
      { payload: { best_acc: 0.75, train: { loss: 1 } } },
    ]);
    const machine =
      (await reader?.readMetrics({ metricKey: 'system/gpu/0/memoryAllocated' })) ?? [];
    expect(machine.map(({ step, timestamp }) => [step, Date.parse(timestamp)])).toEqual(
      [0, 1, 2, 3].map((i) => [i, 1_700_000_002_000 + 1000 * i]),
    );
    expect(await artifacts('histogram')).toEqual([
      { key: 'grads', step: 1, payload: { bins: [-1, 0, 1, 2], counts: [1, 2, 3] } },
      { key: 'packed', step: 1, payload: { bins: [0.5, 0.75, 1], counts: [4, 5] } },
    ]);
    expect(await artifacts('text')).toMatchObject([
      { key: 'wandb/output', payload: 'first\nsecond\n' },
    ]);
    const events = (await reader?.readEvents()) ?? [];
    expect(events.map(({ eventType, step }) => [eventType, step])).toEqual([
      ['wandb_text', 1],
      ['wandb_text', 3],
      ['wandb_alert', null],
    ]);
    expect(events[0]?.payload).toEqual({ name: 'note', text: 'warm-up is over' });
    expect(events[2]).toMatchObject({ severity: 'warning', payload: { title: 'Low accuracy' } });
  });

  test('that go on while they are read, and whose records fill blocks to the last byte', async () => {
    // A block that ends six bytes after a record: the rest is padding.
    const filler = (size: number): Uint8Array<ArrayBuffer> => {
      const body = field.bytes(13, field.bytes(3, new Uint8Array(size - 20).fill(65)));
      return bytesOf(body, field.bytes(19, new Uint8Array(size - body.length - 3).fill(66)));
    };
    for (const left of [0, 1, 6]) {
      const size = BLOCK - HEADER.length - 7 - left;
      const data = filler(size);
      expect(data.length).toBe(size);
      const whole = bytesOf(
        HEADER,
        chunk(1, data),
        new Uint8Array(left),
        chunk(1, history(5, item('x', '-2e-3'))),
      );
      const { report, values, reader } = await imported([input(whole)]);
      expect([left, report.problems]).toEqual([left, []]);
      expect(await values('x')).toEqual([[5, -0.002]]);
      expect(reader?.run.status).toBe('interrupted');
      const cut = await imported([input(whole.slice(0, -2))]);
      expect(cut.report.problems).toEqual([
        {
          file: expect.any(String),
          place: `byte ${BLOCK}`,
          reason: expect.stringMatching(/cut off/),
        },
      ]);
    }
    const zeros = bytesOf(HEADER, chunk(1, history(1, item('x', '1'))), new Uint8Array(500));
    expect((await imported([input(zeros)])).report.problems).toEqual([]);
  });

  test('that are damaged lose the damaged record, and tell', async () => {
    const rows = [1, 2, 3].map((step) => chunk(1, history(step, item('x', `${step}`))));
    const bytes = bytesOf(HEADER, ...rows);
    const place = HEADER.length + (rows[0]?.length ?? 0);
    bytes[place + 12] = 255;
    const { report, values } = await imported([input(bytes)]);
    expect(await values('x')).toEqual([
      [1, 1],
      [3, 3],
    ]);
    expect(report.problems).toMatchObject([
      { place: `byte ${place}`, reason: expect.stringMatching(/checksum/) },
    ]);
    // The run is damaged, and a record over several blocks: what is left has no beginning.
    const broken = FIXTURE.slice();
    broken.fill(255, 20, 30);
    broken.fill(0, 40_000, 40_010);
    const other = await imported([input(broken)]);
    expect(other.report.problems.length).toBeGreaterThan(1);
    expect(other.report.runs).toHaveLength(1);
    expect(await other.artifacts('text')).toHaveLength(1);
  });

  test('have values that are no numbers, and names that mean something in JavaScript', async () => {
    const bytes = bytesOf(
      HEADER,
      chunk(
        1,
        history(
          1,
          item('a', 'NaN'),
          item('b', '"-Infinity"'),
          item('c', 'true'),
          item('d', '[1, 2]'),
          item('e', '{"__proto__": {"f": 3}, "constructor": NaN}'),
          item('g', '{'),
          item('h', 'null'),
          item('__proto__', '7'),
        ),
      ),
      chunk(1, field.bytes(5, field.bytes(1, item('__proto__', '{"x": 1}')))),
    );
    const { report, values } = await imported([input(bytes)]);
    expect(report.problems.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^"g".*no JSON/),
      'Of "d" lists are left out.',
    ]);
    expect(await values('a')).toEqual([[1, Number.NaN]]);
    expect(await values('b')).toEqual([[1, -Infinity]]);
    expect(await values('c')).toEqual([[1, 1]]);
    expect(await values('e/proto/f')).toEqual([[1, 3]]);
    expect(await values('proto')).toEqual([[1, 7]]);
    expect(Reflect.get({}, 'x')).toBeUndefined();
  });

  test('with any damage settle, and give problems instead of errors', async () => {
    const small = bytesOf(HEADER, FIXTURE.subarray(7, 1500));
    const payload = bytesOf(
      history(
        1,
        item('a', '1'),
        item('b', '{"c": {"_type": "histogram", "values": [1], "bins": [0, 1]}}'),
      ),
      field.bytes(17, field.text(1, 'id'), field.bytes(17, field.varint(1, 5))),
      field.bytes(7, field.bytes(3, item('cpu', '1'))),
    );
    await fc.assert(
      fc.asyncProperty(damages, fc.boolean(), async (changes, isFramed) => {
        const bytes = isFramed
          ? bytesOf(HEADER, chunk(1, damaged(payload, changes)))
          : damaged(small, changes);
        const { report } = await imported([input(bytes)], { format: 'wandb' });
        expect(report.runs).toHaveLength(1);
      }),
      runs(1000),
    );
  }, 120_000);
});
