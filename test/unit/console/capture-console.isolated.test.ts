import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createMemoryStore, openRun, startRun, type Store, type TrainingSession } from 'quark-sdk';
import {
  captureConsole,
  forwardConsole,
  readConsole,
  type ConsoleCapture,
} from 'quark-sdk/console';
import { LineAssembler, MAX_LINE_CHARS } from '../../../src/instruments/console/line-assembler.ts';
import {
  lineBytes,
  LineRing,
  type WaitingLine,
} from '../../../src/instruments/console/line-ring.ts';
import { formatArguments } from '../../../src/instruments/console/format-arguments.ts';
import { takeColors } from '../../../src/instruments/console/colors.ts';
import { packLines, unpackLines } from '../../../src/instruments/console/console-line.ts';
import { SECRET_MARK, SecretCutter } from '../../../src/instruments/console/secrets.ts';
import { runs } from '../../support/property.ts';
import { faultyStore, type Fault } from '../../support/store-proxy.ts';

const printed: string[] = [];
const open: Store[] = [];
const captures: ConsoleCapture[] = [];

afterEach(async () => {
  for (const capture of captures.splice(0)) await capture.stop();
  for (const store of open.splice(0)) await store.close();
  vi.restoreAllMocks();
  printed.splice(0);
});

async function startSession(
  strictMode = false,
  storage: Store = createMemoryStore(),
): Promise<TrainingSession> {
  open.push(storage);
  // What is captured need not be on the terminal of the tests.
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((chunk) => printed.push(String(chunk)) > 0);
  return startRun({ project: 'printed', storage, strictMode, handleSignals: false });
}

/** The function that writes to standard output now. */
const writer = (): unknown => Reflect.get(process.stdout, 'write');

const failing =
  (fails: () => boolean) =>
  (call: string): Fault =>
    call === 'putBlob' && fails() ? { kind: 'before', reason: 'quota' } : { kind: 'none' };

const capture = (...args: Parameters<typeof captureConsole>): ConsoleCapture => {
  const made = captureConsole(...args);
  captures.push(made);
  return made;
};

async function linesOf(
  session: TrainingSession,
): Promise<readonly (readonly [string, string | null, string])[]> {
  const { lines } = await readConsole(await openRun(session.store, session.runId));
  return lines.map(({ level, source, text }) => [source, level, text]);
}

describe('what a program prints', () => {
  test('is recorded with sources and levels, and printed as before', async () => {
    const session = await startSession();
    const made = capture(session);
    process.stdout.write('plain\n');
    process.stderr.write(Buffer.from('bytes: é\n'));
    for (const level of ['debug', 'log', 'info', 'warn', 'error'] as const)
      console[level]('by %s', level, { loss: 0.5 });
    await made.stop();
    expect(await linesOf(session)).toStrictEqual([
      ['stdout', null, 'plain'],
      ['stderr', null, 'bytes: é'],
      ...['debug', 'log', 'info', 'warn', 'error'].map((level) => [
        expect.any(String),
        level,
        expect.stringMatching(new RegExp(`^by ${level} \\{ loss: 0\\.5 \\}$`)),
      ]),
    ]);
    expect(printed).toContain('plain\n');
    await session.endRun();
  });

  test('is restored on stop, also where somebody else has replaced it since', async () => {
    const session = await startSession();
    const [log, write] = [console.log, writer()];
    const first = capture(await startRun({ project: 'printed', storage: session.store }));
    const second = capture(session);
    expect(writer()).not.toBe(write);
    await first.stop();
    console.log('by the second only');
    await second.stop();
    expect(console.log).toBe(log);
    expect(writer()).toBe(write);
    expect((await linesOf(session)).map(([, , text]) => text)).toStrictEqual([
      'by the second only',
    ]);

    const third = capture(session);
    const replaced = console.log;
    const own = (...args: unknown[]): void => replaced(...args);
    console.log = own;
    await third.stop();
    expect(console.log).toBe(own);
    expect(() => console.log('passes through')).not.toThrow();
    console.log = log;
    expect(third.status.lines).toBe(0);
  });

  test('collapses progress bars, joins fragments and stores the rest at the end', async () => {
    const session = await startSession();
    const made = capture(session);
    for (let i = 0; i <= 100; i++) process.stderr.write(`\r${i}%|${'#'.repeat(i)}`);
    process.stderr.write('\n');
    process.stdout.write('one ');
    process.stdout.write('line\r\n');
    process.stdout.write('\u001b[2K\u001b[1Gstep 1');
    process.stdout.write('\u001b[2K\u001b[1Gstep 2');
    await made.flush();
    expect(await linesOf(session)).toHaveLength(2);
    await made.stop();
    expect((await linesOf(session)).map(([, , text]) => text)).toStrictEqual([
      `100%|${'#'.repeat(100)}`,
      'one line',
      'step 2',
    ]);
  });

  test('session.flush and the end of the run make lines durable', async () => {
    const session = await startSession();
    capture(session);
    console.log('first');
    await session.flush();
    expect(await linesOf(session)).toHaveLength(1);
    console.log('second');
    process.stdout.write('no line end');
    await session.endRun();
    expect((await linesOf(session)).map(([, , text]) => text)).toStrictEqual([
      'first',
      'second',
      'no line end',
    ]);
  });

  test('in a worker is sent to the thread with the session', async () => {
    const session = await startSession();
    const { port1, port2 } = new MessageChannel();
    const made = capture(session, { own: false, from: [port1] });
    const stop = forwardConsole(port2);
    console.warn('from the worker');
    port2.postMessage({
      kind: 'quark-console',
      prints: [{ text: 1 }, null, { text: 'x\n', source: 'elsewhere' }],
    });
    stop();
    await vi.waitFor(() => expect(made.status.lines).toBe(1));
    await made.stop();
    port1.close();
    expect(await linesOf(session)).toStrictEqual([[expect.any(String), 'warn', 'from the worker']]);
  });

  test('never throws into the program, and never records its own recording', async () => {
    const store = faultyStore(
      createMemoryStore(),
      failing(() => true),
    );
    const session = await startSession(false, store);
    const made = capture(session, { flushIntervalMs: 10 });
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          console.log('inside');
          throw new Error('no keys');
        },
      },
    );
    console.log('before');
    process.stdout.write('\n');
    expect(() => formatArguments([hostile, '%s', Symbol('x')])).not.toThrow();
    await made.flush();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(made.status.lines).toBeLessThan(20);
    await made.stop();
  });

  test('is put back where a strict run cannot store it', async () => {
    let fails = true;
    const store = faultyStore(
      createMemoryStore(),
      failing(() => fails),
    );
    const session = await startSession(true, store);
    const made = capture(session);
    console.log('one');
    await expect(made.flush()).rejects.toMatchObject({ code: 'store_failed' });
    console.log('two');
    fails = false;
    await made.stop();
    expect((await linesOf(session)).map(([, , text]) => text)).toStrictEqual(['one', 'two']);
    expect(made.status).toMatchObject({ failures: 1, droppedLines: 0, storedLines: 2 });
  });

  test('gives way to later lines beyond maxBytes, and is counted', async () => {
    const session = await startSession();
    const made = capture(session, { maxBytes: 65_536, flushIntervalMs: 3_600_000 });
    for (let i = 0; i < 5000; i++) process.stdout.write(`line ${i}\n`);
    await made.stop();
    const read = await readConsole(await openRun(session.store, session.runId));
    expect(read.lines.at(-1)?.text).toBe('line 4999');
    expect(read.lines.length + read.droppedLines).toBe(5000);
    expect(read.droppedLines).toBeGreaterThan(0);
    expect(made.status).toMatchObject({ lines: 5000, droppedLines: read.droppedLines });
  });

  test('beyond maxStoredBytes only the latest lines are stored', async () => {
    const session = await startSession();
    const made = capture(session, {
      maxBytes: 65_536,
      maxStoredBytes: 10_000,
      flushIntervalMs: 10,
    });
    for (let round = 0; round < 40; round++) {
      for (let i = 0; i < 100; i++) process.stdout.write(`line ${round * 100 + i}\n`);
      await new Promise((resolve) => setTimeout(resolve, 12));
    }
    await made.stop();
    const read = await readConsole(await openRun(session.store, session.runId));
    expect(read.lines[0]?.text).toBe('line 0');
    expect(read.lines.at(-1)?.text).toBe('line 3999');
    expect(read.droppedLines).toBeGreaterThan(500);
    expect(read.lines.length + read.droppedLines).toBe(4000);
  });

  test('options are checked before anything is replaced', async () => {
    const session = await startSession();
    const write = writer();
    for (const [options, field] of [
      [{ maxBytes: 10 }, 'options.maxBytes'],
      [{ secrets: ['ab'] }, 'options.secrets[0]'],
      [{ from: [1] }, 'options.from[0]'],
      [{ size: 1 }, 'options.size'],
    ] as const)
      // @ts-expect-error: that is what is tested
      expect(() => captureConsole(session, options)).toThrow(
        expect.objectContaining({ details: expect.objectContaining({ field }) }),
      );
    expect(writer()).toBe(write);
  });
});

test('lines are recorded once: a second capture of a session is refused until the first has stopped', async () => {
  const session = await startSession();
  const { port1, port2 } = new MessageChannel();
  const first = capture(session, { from: [port1] });
  for (const options of [{}, { own: false, from: [port1] }])
    expect(() => capture(session, options)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringContaining('stop()'),
      }),
    );
  // What was refused has claimed nothing.
  capture(session, { own: false, from: [port2] });
  await first.stop();
  expect(() => capture(session, { secrets: [1 as unknown as string] })).toThrow('secrets');
  const second = capture(session);
  process.stdout.write('once\n');
  await second.stop();
  expect(await linesOf(session)).toStrictEqual([['stdout', null, 'once']]);
  for (const port of [port1, port2]) port.close();
});

test.each([{}, null, { store: {} }, 'run_1', { store: createMemoryStore() }])(
  'what is no run is not read: %o',
  async (run) => {
    await expect(readConsole(run as never)).rejects.toMatchObject({
      code: 'invalid_input',
      details: { field: 'run' },
    });
  },
);

describe('reading', () => {
  test('takes the latest lines of any level and source', async () => {
    const session = await startSession();
    const made = capture(session);
    for (let i = 0; i < 10; i++) {
      console.log(`log ${i}`);
      console.error(`error ${i}`);
      await made.flush();
    }
    await made.stop();
    await session.endRun();
    const run = await openRun(session.store, session.runId);
    expect(
      (await readConsole(run, { levels: ['error'], limit: 3 })).lines.map(({ text }) => text),
    ).toStrictEqual(['error 7', 'error 8', 'error 9']);
    const { lines: all } = await readConsole(run);
    const fromMs = all.at(-4)?.timeMs ?? 0;
    expect((await readConsole(run, { fromMs })).lines).toStrictEqual(
      all.filter(({ timeMs }) => timeMs >= fromMs),
    );
    expect((await readConsole(run, { fromMs: Infinity })).lines).toStrictEqual([]);
    expect((await readConsole(run, { fromMs: Infinity })).storedLines).toBe(20);
    await expect(readConsole(run, { fromMs: Number.NaN })).rejects.toThrow(/filter\.fromMs/);
    await expect(readConsole(run, { limit: 0 })).rejects.toThrow(/filter\.limit/);
    // @ts-expect-error: that is what is tested
    await expect(readConsole(run, { levels: ['loud'] })).rejects.toThrow(/filter\.levels/);
  });
});

describe('secrets', () => {
  const cutter = new SecretCutter(['correct horse', /pin-\d+/], {
    MY_API_KEY: 'abcdefgh12',
    HOME: '/root/abc',
  });
  const cut = (text: string): string => cutter.cut({ text, spans: [] }, false).text;

  test.each([
    ['Authorization: Bearer abc.def-ghi123', 'Authorization: Bearer [secret]'],
    ['OPENAI_API_KEY=sk-1234567890abcdefghij', 'OPENAI_API_KEY=[secret]'],
    ['{"password": "hunter22", "n": 1}', '{"password": "[secret]", "n": 1}'],
    ['postgres://ada:lovelace@db:5432/x', 'postgres://ada:[secret]@db:5432/x'],
    ['key qk_0123456789abcdef used', 'key [secret] used'],
    ['the correct horse, pin-42, abcdefgh12', 'the [secret], [secret], [secret]'],
    ['tokens: 512, token: 4096, 1200 tokens/s', 'tokens: 512, token: 4096, 1200 tokens/s'],
    ['epoch 3 loss=0.25 key frames', 'epoch 3 loss=0.25 key frames'],
    ['/root/abc', '/root/abc'],
  ])('%s', (text, expected) => expect(cut(text)).toBe(expected));

  test('a private key is cut line by line', () => {
    const pem = [
      '-----BEGIN RSA PRIVATE KEY-----',
      'MIIEow',
      '-----END RSA PRIVATE KEY-----',
      'after',
    ];
    expect(pem.map(cut)).toStrictEqual([SECRET_MARK, SECRET_MARK, SECRET_MARK, 'after']);
  });

  test('a secret in colours is cut as well, and spans stay where they belong', () => {
    const line = takeColors(
      'a \u001b[31mcorrect\u001b[0m \u001b[1mhorse\u001b[0m b \u001b[32mgreen\u001b[0m',
    );
    const left = cutter.cut(line, false);
    expect(left.text).toBe('a [secret] b green');
    const green = left.spans.at(-1);
    expect(left.text.slice(green?.start, green?.end)).toBe('green');
    for (const { end, start } of left.spans) expect(start).toBeLessThanOrEqual(end);
  });

  test('the end of a cut line may be half a secret', () => {
    expect(cutter.cut({ text: 'x'.repeat(20) + 'correct ho', spans: [] }, true).text).not.toContain(
      'correct',
    );
  });

  test.each([
    'a',
    'key',
    'secret',
    'token ',
    ' ',
    '://',
    '://a:',
    'eyJ',
    'eyJa.',
    'bearer ',
    '"',
    'api-',
    '-',
  ])('a long line of %j takes a time that grows with its length only', (unit) => {
    // A megabyte would take hours where time grows with the square.
    const text = `password key bearer ${unit.repeat(Math.ceil(1e6 / unit.length))}`;
    expect(cutter.cut({ text, spans: [] }, false).text.length).toBeGreaterThan(0);
  });

  test('no text that was named is in what is stored', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constant('correct horse'), fc.constant('\u001b[1m'))),
        (parts) => {
          const { text } = cutter.cut(takeColors(parts.join('')), false);
          expect(text).not.toContain('correct horse');
        },
      ),
      runs(200),
    );
  });
});

const hostileText = fc.array(
  fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '\r',
      '\n',
      '\u001b[',
      '\u001b[31m',
      '\u001b[0m',
      '\u001b]0;title\u0007',
      '\u009b5m',
      '\u202e',
      '\b',
      '\u001b[2J',
      '\u001b[38;5;196m',
      '\u001b[48;2;1;2;3m',
      '\u001bP',
      '\u0000',
    ),
  ),
  { maxLength: 30 },
);

describe('against a plain model', () => {
  test('the ring has the latest lines that fit, and counts the others', () => {
    const line = fc.record({ text: fc.string({ maxLength: 60 }), isCut: fc.boolean() });
    const command = fc.oneof(
      line.map((added) => ({ kind: 'add' as const, added })),
      fc.integer({ min: 1, max: 2000 }).map((bytes) => ({ kind: 'take' as const, bytes })),
      fc.integer({ min: 1, max: 2000 }).map((bytes) => ({ kind: 'fail' as const, bytes })),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 200 }), (commands) => {
        const ring = new LineRing(1500);
        let model: WaitingLine[] = [];
        let dropped = 0;
        const bytes = (lines: readonly WaitingLine[]): number =>
          lines.reduce((sum, one) => sum + lineBytes(one), 0);
        const trim = (): void => {
          while (bytes(model) > 1500) {
            model = model.slice(1);
            dropped++;
          }
        };
        for (const one of commands) {
          if (one.kind === 'add') {
            const waiting: WaitingLine = { ...one.added, timeMs: 0, source: 'stdout', level: null };
            ring.add(waiting);
            model.push(waiting);
            trim();
          } else {
            let count = 0;
            while (
              count < model.length &&
              (count === 0 || bytes(model.slice(0, count + 1)) <= one.bytes)
            )
              count++;
            const taken = ring.take(one.bytes);
            expect(taken).toStrictEqual({ lines: model.slice(0, count), dropped });
            if (one.kind === 'fail') ring.restore(taken);
            else {
              model = model.slice(count);
              dropped = 0;
            }
          }
          expect([ring.length, ring.bytes, ring.dropped]).toStrictEqual([
            model.length,
            bytes(model),
            dropped,
          ]);
        }
      }),
      runs(200),
    );
  });

  test('lines are the same however the text is divided', () => {
    fc.assert(
      fc.property(hostileText, fc.array(fc.nat(50)), (parts, cuts) => {
        // oxlint-disable-next-line no-control-regex -- the rule is about control characters
        const text = parts.join('').replaceAll(/\u001b\[[01]?G/g, '');
        const whole: string[] = [];
        const divided: string[] = [];
        const one = new LineAssembler((line) => whole.push(line));
        one.add(text);
        one.finish();
        const other = new LineAssembler((line) => divided.push(line));
        let from = 0;
        for (const cut of cuts) {
          other.add(text.slice(from, from + cut));
          from += cut;
        }
        other.add(text.slice(from));
        other.finish();
        expect(divided).toStrictEqual(whole);
        const model = text.split('\n').map((line) => line.replace(/\r+$/, '').split('\r').at(-1));
        if (model.at(-1) === '' && !text.endsWith('\n\r')) model.pop();
        expect(whole.filter((line) => line !== '')).toStrictEqual(
          model.filter((line) => line !== ''),
        );
      }),
      runs(300),
    );
  });

  test('a line without an end takes bounded memory', () => {
    const lines: { text: string; isCut: boolean }[] = [];
    const assembler = new LineAssembler((line, isCut) => lines.push({ text: line, isCut }));
    for (let i = 0; i < 100; i++) assembler.add('x'.repeat(10_000));
    assembler.add('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.isCut).toBe(true);
    expect(lines[0]?.text.length).toBeLessThanOrEqual(MAX_LINE_CHARS);
  });

  test('colours leave no escape sequence, and spans lie in the text', () => {
    fc.assert(
      fc.property(hostileText, (parts) => {
        const { spans, text } = takeColors(parts.join(''));
        // oxlint-disable-next-line no-control-regex -- the rule is about control characters
        expect(text).not.toMatch(/[\u001b\u0080-\u009f]/);
        let last = 0;
        for (const { end, start } of spans) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          last = end;
        }
        expect(last).toBeLessThanOrEqual(text.length);
      }),
      runs(300),
    );
  });

  test('lines come back from their bytes as they were', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostileText, { maxLength: 8 }), async (texts) => {
        const lines = texts.map((parts, i) => ({
          timeMs: i,
          source: 'stderr' as const,
          level: i % 2 === 0 ? null : ('warn' as const),
          ...takeColors(parts.join('').replaceAll('\n', '')),
        }));
        const bytes = new Uint8Array(await new Response(packLines(lines)).arrayBuffer());
        expect(await unpackLines(bytes)).toStrictEqual(lines);
      }),
      runs(60),
    );
  });

  test('damaged chunks are refused by their error', async () => {
    for (const bytes of [Uint8Array.of(1, 2, 3), new Uint8Array(0)])
      await expect(unpackLines(bytes)).rejects.toMatchObject({ code: 'store_failed' });
  });
});
