import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openRun } from 'quark-sdk';
import fc from 'fast-check';
import { crc32, maskedCrc32c } from '../../../src/base/crc32.ts';
import { bytesInput, type InputFile } from '../../../src/codecs/input.ts';
import { runs } from '../../support/property.ts';
import {
  bytesOf,
  crc32cByBits,
  event,
  f32,
  f64,
  field,
  masked,
  plugin,
  record,
  scalar,
  T0,
  tensor,
  u32,
  varint,
  version,
  type Piece,
} from '../../support/event-file.ts';
import { imported } from '../../support/import-result.ts';
import { damaged, damages } from '../../support/damage.ts';

const NAME = 'logs/run/events.out.tfevents.1700000000.host';
const file = (...records: readonly Piece[]): InputFile => bytesInput(NAME, bytesOf(...records));

describe('CRC-32', () => {
  test('agrees with the published check values and with the bits', () => {
    const digits = new TextEncoder().encode('123456789');
    expect(crc32(digits)).toBe(0xcbf43926);
    expect(crc32cByBits(digits)).toBe(0xe3069283);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), fc.nat(70), (bytes, cut) => {
        const at = Math.min(cut, bytes.length);
        expect(u32(maskedCrc32c(bytes, at))).toEqual(masked(bytes.subarray(at)));
        expect(crc32(bytes)).toBe(crc32cByBits(bytes, 0xedb88320));
        expect(crc32(bytes, at, bytes.length, crc32(bytes, 0, at))).toBe(crc32(bytes));
      }),
      runs(200),
    );
  });
});

describe('TensorBoard event files', () => {
  test('have scalars of the first generation, with their tags mapped', async () => {
    const { report, reader, values } = await imported([
      file(
        version(),
        record(event(0, scalar('loss', 2.5), scalar('lr-Adam', 0.5))),
        record(event(7, scalar('loss', Number.NaN))),
        record(event(8, scalar('loss', -Infinity), scalar('Grad Norm!/ä', 3))),
      ),
    ]);
    expect(report.problems).toEqual([]);
    expect(report.runs).toMatchObject([
      {
        name: 'logs/run',
        format: 'tensorboard',
        rowCount: 5,
        metrics: {
          'train/loss': 'loss',
          'optimizer/lr/Adam': 'lr-Adam',
          Grad_Norm: 'Grad Norm!/ä',
        },
      },
    ]);
    expect(await values('train/loss')).toEqual([
      [0, 2.5],
      [7, Number.NaN],
      [8, -Infinity],
    ]);
    expect(reader?.run).toMatchObject({
      startedAt: new Date(T0 * 1000).toISOString(),
      endedAt: new Date((T0 + 8) * 1000).toISOString(),
    });
  });

  test('have scalars of the second, of any type, as content and as values', async () => {
    const half = [0x00, 0x3e]; // 1.5
    const cases: [string, Uint8Array, number][] = [
      ['f32', tensor('f32', 1, [], field.bytes(4, f32(1.5))), 1.5],
      ['f32v', tensor('f32v', 1, [], field.bytes(5, f32(1.5))), 1.5],
      ['f32u', tensor('f32u', 1, [], field.float(5, -2.25)), -2.25],
      ['f64', tensor('f64', 2, [], field.bytes(4, f64(0.1))), 0.1],
      ['f64v', tensor('f64v', 2, [1], field.bytes(6, f64(0.1))), 0.1],
      ['i32', tensor('i32', 3, [], field.bytes(4, [255, 255, 255, 255])), -1],
      ['i32v', tensor('i32v', 3, [], field.bytes(7, varint(-7))), -7],
      ['u8', tensor('u8', 4, [], field.bytes(4, [200])), 200],
      ['i8', tensor('i8', 6, [], field.bytes(4, [200])), -56],
      ['i64', tensor('i64', 9, [], field.varint(10, -(2n ** 40n))), -(2 ** 40)],
      ['i64c', tensor('i64c', 9, [], field.bytes(4, [0, 0, 0, 0, 1, 0, 0, 0])), 2 ** 32],
      ['u64v', tensor('u64v', 23, [], field.bytes(17, varint(2n ** 63n))), 2 ** 63],
      ['u32v', tensor('u32v', 22, [], field.bytes(16, varint(2 ** 32 - 1))), 2 ** 32 - 1],
      ['bool', tensor('bool', 10, [], field.bytes(11, [1])), 1],
      ['half', tensor('half', 19, [], field.bytes(4, half)), 1.5],
      ['halfv', tensor('halfv', 19, [], field.bytes(13, varint(0xfc00))), -Infinity],
      ['halfs', tensor('halfs', 19, [], field.bytes(13, [1])), 2 ** -24],
      ['bf16', tensor('bf16', 14, [], field.bytes(4, [0xc0, 0x3f])), 1.5],
      ['bf16v', tensor('bf16v', 14, [], field.bytes(13, varint(0x7fc0))), Number.NaN],
      ['zero', tensor('zero', 1, [], new Uint8Array(0), plugin('scalars')), 0],
    ];
    const { report, values } = await imported([
      file(version(), record(event(3, ...cases.map(([, bytes]) => bytes)))),
    ]);
    expect(report.problems).toEqual([]);
    for (const [name, , value] of cases)
      expect([name, await values(name)]).toEqual([name, [[3, value]]]);
  });

  test('keep histograms of both generations as artifacts, and texts', async () => {
    const limit = 1.7e308;
    const histo = (min: number, max: number, limits: number[], counts: number[]): Uint8Array =>
      bytesOf(
        field.text(1, 'weights/dense'),
        field.bytes(
          5,
          field.double(1, min),
          field.double(2, max),
          field.double(3, 6),
          field.bytes(6, f64(...limits)),
          field.bytes(7, f64(...counts)),
        ),
      );
    const buckets = [-1, 0, 2, 0, 1, 3];
    const { report, artifacts } = await imported([
      file(
        version(),
        record(event(1, histo(-0.5, 2.5, [-1, 0, 1, limit], [0, 1, 3, 2]))),
        record(event(2, histo(0.25, 0.25, [0.25, 0.5], [4, 0]))),
        record(
          event(
            3,
            tensor('kernel', 2, [2, 3], field.bytes(4, f64(...buckets)), plugin('histograms')),
          ),
        ),
        record(event(4, tensor('kernel', 2, [1, 3], field.bytes(6, f64(7, 7, 5))))),
        record(event(5, tensor('kernel', 2, [0, 3], new Uint8Array(0)))),
        record(
          event(
            6,
            tensor(
              'notes',
              7,
              [2],
              bytesOf(field.text(8, 'warm'), field.text(8, 'up')),
              plugin('text'),
            ),
          ),
        ),
      ),
    ]);
    expect(report.problems).toEqual([]);
    expect(await artifacts('histogram')).toEqual([
      {
        key: 'weights/dense',
        step: 1,
        payload: {
          bins: [-0.5, 0, 1, 2.5],
          counts: [1, 3, 2],
          min: -0.5,
          max: 2.5,
          num: 6,
          sum: 0,
          sum_squares: 0,
        },
      },
      {
        key: 'weights/dense',
        step: 2,
        payload: expect.objectContaining({ bins: [-0.25, 0.75], counts: [4] }),
      },
      { key: 'kernel', step: 3, payload: { bins: [-1, 0, 1], counts: [2, 3] } },
      { key: 'kernel', step: 4, payload: { bins: [6.5, 7.5], counts: [5] } },
    ]);
    expect(await artifacts('text')).toEqual([{ key: 'notes', step: 6, payload: 'warm\nup' }]);
  });

  test('have hyperparameters and how the session ended', async () => {
    const entry = (name: string, value: Uint8Array): Uint8Array =>
      field.bytes(1, field.text(1, name), field.bytes(2, value));
    const start = field.bytes(
      3,
      entry('lr', field.double(2, 0.1)),
      entry('optimizer', field.text(3, 'adam')),
      entry('amp', field.varint(4, 1)),
      field.text(4, 'group'),
    );
    const end = field.bytes(4, field.varint(1, 2));
    const tagged = (tag: string, content: Uint8Array): Uint8Array =>
      bytesOf(field.text(1, tag), plugin('hparams', content));
    const { report, reader } = await imported([
      file(
        version(),
        record(event(0, tagged('_hparams_/session_start_info', start))),
        record(event(0, tagged('_hparams_/session_end_info', end))),
      ),
    ]);
    expect(report.problems).toEqual([]);
    expect(reader?.run).toMatchObject({
      status: 'failed',
      config: { lr: 0.1, optimizer: 'adam', amp: true },
      environment: { hparams_session: { group_name: 'group' } },
    });
  });

  test('of one folder are one run in the order of their times, and so is the validation within', async () => {
    const of = (step: number, value: number): Uint8Array<ArrayBuffer> =>
      bytesOf(version(), record(event(step, scalar('loss', value))));
    const { report, values, store } = await imported([
      bytesInput('logs/a/events.out.tfevents.1700000100.host.2', of(4, 2)),
      bytesInput(
        'logs/a/events.out.tfevents.1700000009.host.1',
        bytesOf(of(5, 1), record(event(6, scalar('loss', 9)))),
      ),
      bytesInput('logs/a/validation/events.out.tfevents.1700000000.host', of(5, 3)),
    ]);
    expect(report.runs.map(({ name }) => name)).toEqual(['logs/a']);
    expect(await values('train/loss')).toEqual([
      [5, 1],
      [6, 9],
      [4, 2],
    ]);
    // Steps that go back with a new file are kept, and told.
    const first = await openRun(store, report.runs[0]?.runId ?? '');
    expect(
      (await first.readEvents()).map(({ eventType, step, payload }) => [eventType, step, payload]),
    ).toEqual([
      [
        'tensorboard_steps_restarted',
        4,
        { file: 'events.out.tfevents.1700000100.host.2', last_step: 6 },
      ],
    ]);
    expect(await values('val/loss')).toEqual([[5, 3]]);
  });

  test('of the sides of a training are one run, and runs beside each other stay so', async () => {
    const of = (tag: string, value: number): Uint8Array<ArrayBuffer> =>
      bytesOf(version(), record(event(1, scalar(tag, value))));
    const eventsIn = (folder: string, tag: string, value: number) =>
      bytesInput(`${folder}/events.out.tfevents.1700000000.host`, of(tag, value));
    const keysOf = async (...files: readonly ReturnType<typeof eventsIn>[]) => {
      const { report } = await imported(files);
      return report.runs.map(({ metrics, name }) => [name, Object.keys(metrics).toSorted()]);
    };
    const keras = [
      eventsIn('r/1/train', 'epoch_loss', 1),
      eventsIn('r/1/validation', 'epoch_loss', 2),
    ];
    expect(await keysOf(...keras)).toEqual([['r/1', ['train/loss', 'val/loss']]]);
    expect(await keysOf(...keras, eventsIn('r/2/train', 'epoch_loss', 1))).toEqual([
      ['r/1', ['train/loss', 'val/loss']],
      ['r/2/train', ['train/loss']],
    ]);
    expect(
      await keysOf(eventsIn('cb/learn', 'Logloss', 1), eventsIn('cb/test', 'Logloss', 2)),
    ).toEqual([['cb', ['Logloss', 'test/Logloss']]]);
    expect(
      await keysOf(
        eventsIn('runs/x', 'lr', 1),
        eventsIn('runs/x/Loss_train', 'Loss', 1),
        eventsIn('runs/x/Loss_val', 'Loss', 2),
      ),
    ).toEqual([['runs/x', ['optimizer/lr', 'train/loss', 'val/loss']]]);
    const many = ['a', 'b_1', 'b_2', 'model_test'].map((name) =>
      eventsIn(`runs/${name}`, 'loss', 1),
    );
    expect((await keysOf(eventsIn('runs', 'loss', 1), ...many)).map(([name]) => name)).toEqual([
      'runs',
      'runs/a',
      'runs/b_1',
      'runs/b_2',
      'runs/model_test',
    ]);
  });

  test('have the hparams.yaml of Lightning beside them as configuration', async () => {
    const events = bytesOf(version(), record(event(1, scalar('loss', 1))));
    const at = (folder: string) =>
      bytesInput(`${folder}/events.out.tfevents.1700000000.host`, events);
    const yaml = (folder: string, text: string) => bytesInput(`${folder}/hparams.yaml`, text);
    const { report, reader } = await imported([
      at('lightning_logs/version_0'),
      yaml('lightning_logs/version_0', 'lr: 0.1\nlayers: [64, 32]\n'),
    ]);
    expect([report.problems, report.unknownFiles]).toEqual([[], []]);
    expect(reader?.run.config).toEqual({ lr: 0.1, layers: [64, 32] });
    // The settings do not make another run of the same events.
    const alone = await imported([at('lightning_logs/version_0')]);
    expect(alone.report.runs[0]?.runId).toBe(report.runs[0]?.runId);
    const sides = await imported([at('r/train'), at('r/validation'), yaml('r', 'lr: 0.2\n')]);
    expect([sides.report.unknownFiles, sides.reader?.run.config]).toEqual([[], { lr: 0.2 }]);
    const one = await imported([at('r/train'), yaml('r', 'lr: 0.3\n')]);
    expect([one.report.unknownFiles, one.reader?.run.config]).toEqual([[], { lr: 0.3 }]);
    const list = await imported([at('r'), yaml('r', '- 1\n')]);
    expect(list.report.problems).toEqual([
      { file: 'r/hparams.yaml', place: null, reason: 'It is no mapping of settings.' },
    ]);
    const elsewhere = await imported([at('r'), yaml('other', 'lr: 0.1\n')]);
    expect(elsewhere.report.unknownFiles).toEqual(['other/hparams.yaml']);
    expect(elsewhere.reader?.run.config).toEqual({});
  });

  test('have session logs and messages as events, and steps that are no steps', async () => {
    const start = bytesOf(
      field.double(1, T0),
      field.varint(2, 3),
      field.bytes(7, field.varint(1, 1), field.text(3, 'again')),
    );
    const checkpoint = bytesOf(
      field.double(1, T0),
      field.bytes(7, field.varint(1, 3), field.text(2, '/ckpt-3')),
    );
    const message = bytesOf(
      field.double(1, T0),
      field.bytes(6, field.varint(1, 40), field.text(2, 'no memory')),
    );
    const { report, reader, values } = await imported([
      file(
        version(),
        record(start),
        record(checkpoint),
        record(message),
        record(event(2n ** 63n - 1n, scalar('x', 1))),
        record(event(-1, scalar('x', 2))),
      ),
    ]);
    expect(report.problems).toMatchObject([
      { reason: expect.stringMatching(/^2 values have a step that is no whole number/) },
    ]);
    expect(
      (await reader?.readEvents())?.map(({ eventType, severity, step, payload }) => [
        eventType,
        severity,
        step,
        payload,
      ]),
    ).toEqual([
      [
        'tensorboard_session_started',
        'info',
        3,
        { file: 'events.out.tfevents.1700000000.host', message: 'again' },
      ],
      [
        'tensorboard_session_checkpoint',
        'info',
        0,
        { file: 'events.out.tfevents.1700000000.host', checkpoint_path: '/ckpt-3' },
      ],
      ['tensorboard_log_message', 'error', 0, { message: 'no memory' }],
    ]);
    expect(await values('x')).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  test('need no file_version and no name; other record files are not theirs', async () => {
    const named = await imported([file(record(event(1, scalar('loss', 1))))]);
    expect(named.report.runs).toHaveLength(1);
    const bare = await imported([bytesInput('x.bin', record(event(1, scalar('loss', 1))))]);
    expect(bare.report.runs[0]?.format).toBe('tensorboard');
    const example = record(field.bytes(1, field.bytes(1, field.text(1, 'image'))));
    const other = await imported([bytesInput('train.tfrecord', example)]);
    expect(other.report).toMatchObject({ runs: [], unknownFiles: ['train.tfrecord'] });
    const empty = await imported([bytesInput(NAME, new Uint8Array(0))]);
    expect(empty.report.problems).toEqual([
      { file: NAME, place: null, reason: 'The file is empty.' },
    ]);
  });

  test('that are cut off, or damaged in the middle, give everything else', async () => {
    const good = record(event(1, scalar('loss', 1)));
    const cut = await imported([file(version(), good, good.subarray(0, -3))]);
    const at = version().length + good.length;
    expect(await cut.values('train/loss')).toEqual([[1, 1]]);
    expect(cut.report.problems).toEqual([
      { file: NAME, place: `byte ${at}`, reason: expect.stringMatching(/cut off/) },
    ]);
    // Writers that reserve space leave zeros; a record of no bytes is one all the same.
    const padded = await imported([
      file(version(), record(new Uint8Array(0)), good, new Uint8Array(5000)),
    ]);
    expect(await padded.values('train/loss')).toEqual([[1, 1]]);
    expect(padded.report.problems).toMatchObject([
      { reason: expect.stringMatching(/^5000 bytes/) },
    ]);
    const flipped = good.slice();
    flipped[good.length - 6] = (flipped[good.length - 6] ?? 0) ^ 1;
    const broken = await imported([file(version(), good, flipped, good, [1, 2, 3], good)]);
    expect(await broken.values('train/loss')).toHaveLength(3);
    expect(broken.report.problems).toEqual([
      {
        file: NAME,
        place: `byte ${at}`,
        reason: expect.stringMatching(new RegExp(`^${good.length} bytes.*checksum`)),
      },
      {
        file: NAME,
        place: `byte ${at + 2 * good.length}`,
        reason: expect.stringMatching(/^3 bytes/),
      },
    ]);
  });

  test('whose records are larger than the limit, or that lie across pieces of the file', async () => {
    const big = record(
      event(2, tensor('blob', 7, [1], field.text(8, 'x'.repeat(1_200_000)), plugin('text'))),
    );
    const many = Array.from({ length: 16_000 }, (_, i) => record(event(i, scalar('loss', i))));
    const whole = bytesOf(version(), big, ...many.slice(0, 8_000), big, ...many.slice(8_000));
    const all = await imported([bytesInput(NAME, whole)]);
    expect(all.report.problems).toEqual([]);
    expect(await all.values('train/loss')).toEqual(many.map((_, i) => [i, i]));
    const limited = await imported([bytesInput(NAME, whole)], { limits: { maxRecordBytes: 1000 } });
    expect(await limited.values('train/loss')).toHaveLength(16_000);
    expect(limited.report.problems.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/limits.maxRecordBytes/),
      expect.stringMatching(/limits.maxRecordBytes/),
    ]);
  });

  test('with what is left out name it once', async () => {
    const image = bytesOf(field.text(1, 'picture'), field.bytes(4, field.varint(1, 2)));
    const { report } = await imported([
      file(
        version(),
        record(
          event(
            1,
            image,
            tensor(
              'curve',
              1,
              [2, 2],
              field.bytes(4, f32(1), f32(1), f32(1), f32(1)),
              plugin('pr_curves'),
            ),
          ),
        ),
        record(event(2, image, field.float(2, 1), scalar('', 1))),
      ),
    ]);
    expect(report.problems.map(({ reason }) => reason)).toEqual([
      'Of "picture" images are left out.',
      'Of "curve" tensors of shape [2, 2] of the plugin "pr_curves" are left out.',
      'A value without a tag is left out.',
      expect.stringMatching(/no key can be made of it/),
    ]);
  });

  test('of the first generation of plugins lose the suffix of their tags', async () => {
    const metadata = field.bytes(
      9,
      field.bytes(1, field.text(1, 'scalars')),
      field.text(2, 'loss'),
    );
    const { report } = await imported([
      file(
        version(),
        record(event(1, tensor('loss/scalar_summary', 1, [], field.float(5, 1), metadata))),
      ),
    ]);
    expect(report.runs[0]?.metrics).toEqual({ 'train/loss': 'loss' });
  });

  test('made by tensorboardX and by tensorboard itself', async () => {
    const fixture = (run: string): InputFile =>
      bytesInput(
        `${run}/events.out.tfevents.1700000000.host`,
        new Uint8Array(
          readFileSync(
            new URL(
              `../../fixtures/tensorboard/${run}/events.out.tfevents.1700000000.host`,
              import.meta.url,
            ),
          ),
        ),
      );
    const first = await imported([fixture('first')]);
    expect(first.report.problems).toEqual([]);
    expect(await first.values('train/loss')).toEqual([
      [0, 2],
      [1, 1],
      [2, Math.fround(2 / 3)],
      [3, 0.5],
      [4, Math.fround(0.4)],
      [5, Number.NaN],
    ]);
    expect(first.reader?.run.config).toEqual({
      lr: 0.1,
      batch_size: 32,
      optimizer: 'adam',
      amp: true,
    });
    const [dense, same] = await first.artifacts('histogram');
    expect(dense).toMatchObject({
      key: 'weights/dense',
      step: 3,
      payload: { min: -1, max: 2, num: 100 },
    });
    expect(dense?.payload.bins.at(0)).toBe(-1);
    expect(dense?.payload.bins.at(-1)).toBe(2);
    expect(dense?.payload.counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(100);
    expect(same?.payload.counts).toEqual([7]);
    expect(await first.artifacts('text')).toMatchObject([{ step: 2, payload: 'warm-up is over' }]);

    const second = await imported([fixture('second')]);
    expect(second.report.problems).toEqual([]);
    expect(await second.values('train/loss')).toEqual([
      [0, 1.5],
      [1, 1],
      [2, 0.5],
    ]);
    const types =
      (await second.reader?.metricKeys())?.filter((key) => key.startsWith('types/')) ?? [];
    expect(types).toHaveLength(11);
    for (const key of types) expect([key, await second.values(key)]).toEqual([key, [[0, 1]]]);
    expect(await second.artifacts('histogram')).toEqual([
      { key: 'kernel_0', step: 1, payload: { bins: [-1, -0.5, 0, 0.5, 1], counts: [1, 2, 3, 4] } },
    ]);
    expect(await second.artifacts('text')).toMatchObject([{ payload: 'one\ntwo' }]);
  });

  const shared = new URL('../../../../shared/data/runs/', import.meta.url);
  test.skipIf(!existsSync(shared))('of a real training (needs ../shared)', async () => {
    const path =
      readdirSync(shared, { recursive: true, encoding: 'utf8' }).find((name) =>
        name.includes('tfevents'),
      ) ?? '';
    const bytes = new Uint8Array(readFileSync(new URL(path, shared)));
    const { report, values } = await imported([bytesInput(path, bytes)]);
    expect(report.problems).toEqual([]);
    expect(report.runs[0]?.rowCount).toBeGreaterThan(200);
    expect((await values('train/box_om'))[0]).toEqual([1, Math.fround(1.4150700569152832)]);
  });

  test('with any damage settle, and give problems instead of errors', async () => {
    const valid = bytesOf(
      version(),
      record(
        event(
          1,
          scalar('loss', 1),
          tensor('kernel', 2, [2, 3], field.bytes(4, f64(-1, 0, 2, 0, 1, 3)), plugin('histograms')),
        ),
      ),
      record(event(2, tensor('t', 7, [1], field.text(8, 'text'), plugin('text')), scalar('b', 2))),
      record(event(3, scalar('loss', 3))),
    );
    const payload = event(
      1,
      scalar('loss', 1),
      tensor('kernel', 2, [2, 3], field.bytes(6, f64(-1, 0, 2, 0, 1, 3)), plugin('histograms')),
    );
    await fc.assert(
      fc.asyncProperty(damages, fc.boolean(), async (changes, isFramed) => {
        // Half of the damage has right checksums around it.
        const changed = damaged(isFramed ? payload : valid, changes);
        const bytes = isFramed ? bytesOf(version(), record(changed)) : changed;
        const { report } = await imported([bytesInput(NAME, bytes)], {
          format: 'tensorboard',
        });
        expect(report.runs).toHaveLength(1);
      }),
      runs(1000),
    );
  }, 120_000);
});
