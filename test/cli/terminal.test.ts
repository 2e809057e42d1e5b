/** What was recorded does not steer the terminal that shows it, in any command. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { report } from '../../src/analysis.ts';
import {
  escapeInJson,
  onOneLine,
  withControlsShown,
  withOwnSequences,
} from '../../src/base/texts/control-characters.ts';
import { runCli } from '../../src/cli/cli.ts';
import {
  EventLogger,
  MetricsLogger,
  openRun,
  openStorage,
  TrainingSession,
} from '../../src/index.ts';
import { createServiceLog } from '../../src/service/node/service-log.ts';
import { runs } from '../support/property.ts';
import { FakeIo, quark } from './fake-io.ts';

/** Everything but text, line ends and tabs. */
const HOSTILE =
  // oxlint-disable-next-line no-control-regex -- the rule is about control characters
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const EVERY = [
  ...Array.from({ length: 32 }, (_, at) => at),
  ...Array.from({ length: 33 }, (_, at) => 0x7f + at),
  0x061c,
  0x200e,
  0x200f,
  ...Array.from({ length: 5 }, (_, at) => 0x202a + at),
  ...Array.from({ length: 4 }, (_, at) => 0x2066 + at),
].map((code) => String.fromCharCode(code));
const text = fc
  .array(fc.oneof(fc.constantFrom(...EVERY), fc.string({ unit: 'binary', maxLength: 3 })), {
    maxLength: 30,
  })
  .map((parts) => parts.join(''));

describe('text that steers a terminal', () => {
  it('is on one line without any of it', () => {
    fc.assert(
      fc.property(text, (one) => {
        expect(onOneLine(one)).not.toMatch(HOSTILE);
        expect(onOneLine(one)).not.toMatch(/[\n\r\t]/);
        expect(onOneLine(onOneLine(one))).toBe(onOneLine(one));
      }),
      runs(300),
    );
    for (const char of EVERY) expect(onOneLine(`a${char}b`)).toBe('a b');
    expect(onOneLine('naïve 学習 👩‍🔬 שלום')).toBe('naïve 学習 👩‍🔬 שלום');
  });

  it('is shown on several lines, beside colours of our own', () => {
    fc.assert(
      fc.property(text, (one) => {
        expect(withControlsShown(one)).not.toMatch(HOSTILE);
        // oxlint-disable-next-line no-control-regex -- the rule is about control characters
        const rest = withOwnSequences(one).replaceAll(/\u001b\[(?:\d{1,2}m|2K)/g, '');
        expect(rest).not.toMatch(HOSTILE);
      }),
      runs(300),
    );
    expect(withOwnSequences('\u001b[31mred\u001b[39m\u001b]0;title\u0007')).toBe(
      '\u001b[31mred\u001b[39m\\u001b]0;title\\u0007',
    );
  });

  it('is the same value in JSON', () => {
    fc.assert(
      fc.property(text, (one) => {
        const written = escapeInJson(JSON.stringify({ one }));
        expect(written).not.toMatch(HOSTILE);
        expect(JSON.parse(written)).toEqual({ one });
      }),
      runs(300),
    );
  });

  it('is escaped in the log of a service', () => {
    let log = '';
    createServiceLog('info', (line) => (log += line)).info(
      { user: 'a\u202eb\u009b31m\u001b' },
      'm',
    );
    expect(log).not.toMatch(HOSTILE);
    expect(JSON.parse(log)).toMatchObject({ user: 'a\u202eb\u009b31m\u001b' });
  });
});

describe('what was recorded under a hostile name', () => {
  const name = `evil\u202egnp.\u2066x\u2069\u001b[31m\u001b]0;owned\u0007\u009b2J\u007f\u200f\u061c`;
  let folder = '';
  let runId = '';

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quark-terminal-'));
    const session = await TrainingSession.startRun({
      project: 'plain',
      // Of control characters, names may have those that turn the direction.
      tags: ['evil\u202egnp.\u2066x\u2069\u200f\u061c'],
      config: { [name]: name },
      storageDir: folder,
      handleSignals: false,
    });
    ({ runId } = session);
    const metrics = new MetricsLogger(session);
    for (let step = 0; step < 200; step += 1)
      metrics.log('train/loss', step === 120 ? 900 : 1 / (step + 1), { step });
    new EventLogger(session).log('user_log', { payload: { message: name, [name]: [name] } });
    await session.endRun('failed');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    [['runs']],
    [['show', 'latest']],
    [['metrics', 'latest']],
    [['events', 'latest']],
    [['analyze', 'latest']],
    [['phases', 'latest']],
    [['compare', 'latest', 'latest']],
    [['report', 'latest']],
    [['report', 'latest', '--html']],
    [['query', 'select * from events']],
    [['query', 'select tags as "x\u202ey" from runs']],
    [['verify']],
    [['show', name]],
    [['runs', '--tag', name]],
    [['runs', '--project', name]],
    [['nothing\u202e\u001b[31m']],
    [['import', `${name}.csv`]],
    [['export', 'latest', '--out', `missing/${name}/x.quark`]],
  ])('steers nothing in %j', async (args) => {
    for (const columns of [undefined, 100]) {
      const { stdout, stderr } = await quark(args, {
        cwd: folder,
        env: { NO_COLOR: '1' },
        ...(columns === undefined ? {} : { columns }),
      });
      expect(stdout).not.toMatch(HOSTILE);
      expect(stderr).not.toMatch(HOSTILE);
      expect(`${stdout}${stderr}`).not.toBe('');
    }
  });

  it('is exact in JSON', async () => {
    const { stdout } = await quark(['show', 'latest', '--json'], { cwd: folder });
    expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(name).slice(1, -1));
  });

  it('steers nothing where a command forgets about it', async () => {
    const io = new FakeIo({ cwd: folder, columns: 100 });
    // Debug output has stacks, with the messages of whatever was thrown.
    const args = ['show', name];
    await runCli(args, Object.assign(io, { env: { QUARK_DEBUG: '1', NO_COLOR: '1' } }));
    expect(io.err).toContain('at ');
    expect(io.err).not.toMatch(HOSTILE);
  });

  it('is shown in a report', async () => {
    const store = await openStorage(folder);
    try {
      const { html, markdown } = await report(await openRun(store, runId));
      for (const written of [html, markdown]) {
        expect(written).not.toMatch(HOSTILE);
        expect(written).toContain(String.raw`u202e`);
      }
    } finally {
      await store.close();
    }
  });
});
