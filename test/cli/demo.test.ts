/** `quark demo` and `quark dashboard` as a person uses them: real training, a real server, real signals. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';
import { listRuns, openRun, openStorage, type RunReader } from '../../src/index.ts';
import { casesOf } from '../support/long.ts';
import { FakeIo, quark } from './fake-io.ts';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const site = fileURLToPath(new URL('../../dist/demo/index.html', import.meta.url));
const isBuilt = existsSync(cli) && existsSync(site);
const TIMEOUT_MS = 180_000;

let folder = '';
const children: ChildProcess[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quark-demo-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The built command as a process, with what it wrote so far. */
class Command {
  out = '';
  err = '';
  readonly ended: Promise<number | NodeJS.Signals | null>;
  readonly #child: ChildProcess;
  #wake: () => void = () => undefined;

  constructor(args: readonly string[]) {
    const child = spawn(process.execPath, [cli, ...args], {
      cwd: folder,
      env: { ...process.env, NO_COLOR: '1' },
    });
    children.push(child);
    this.#child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
      this.#wake();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
    });
    this.ended = new Promise((resolve) =>
      child.on('close', (code, signal) => resolve(code ?? signal)),
    );
    void this.ended.then(() => this.#wake());
  }

  /** What matched in standard output. @throws Error when the process ends without */
  async sees(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.out);
      if (match !== null) return match;
      if (this.#child.exitCode !== null)
        throw new Error(`It ended without ${pattern}:\n${this.out}\n${this.err}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  /** Stops reading, as `head` does. */
  hangUp(): void {
    this.#child.stdout?.destroy();
  }
}

async function readRun(
  dir: string,
  runId: string,
  look: (reader: RunReader) => Promise<void>,
): Promise<void> {
  const store = await openStorage(join(folder, dir), { create: false });
  try {
    await look(await openRun(store, runId));
  } finally {
    await store.close();
  }
}

const last = (values: ArrayLike<number>): number => values[values.length - 1] ?? Number.NaN;

describe.skipIf(!isBuilt)('quark demo, built (needs "npm run build")', () => {
  it(
    'trains, records and shows a run, and serves it until it is stopped',
    async () => {
      const demo = new Command([
        'demo',
        '--epochs',
        '1',
        '--port',
        '0',
        '--no-open',
        '--storage-dir',
        'full',
      ]);
      const [, base = '', runId = ''] = await demo.sees(
        /Dashboard: (http:\/\/127\.0\.0\.1:\d+\/)#\/runs\/(run_\w+)\n/,
      );
      const page = await fetch(base);
      expect([page.status, page.headers.get('cross-origin-embedder-policy')]).toStrictEqual([
        200,
        'require-corp',
      ]);
      const script = /src="([^"]*assets\/[^"]+\.js)"/.exec(await page.text())?.[1] ?? '';
      expect((await fetch(new URL(script, base))).headers.get('cache-control')).toContain(
        'immutable',
      );
      const { storage } = (await (await fetch(new URL('quark.json', base))).json()) as {
        storage: string;
      };
      const live = await openStorage(new URL(storage, base).href);
      expect(await listRuns(live)).toMatchObject([
        { run: { id: runId, projectName: 'digits' }, isLive: true, effectiveStatus: 'running' },
      ]);
      const watched = await openRun(live, runId);
      let seen = 0;
      // The training goes on between two questions; the page asks the same way.
      while (seen === 0)
        seen = (await watched.readMetricColumns({ metricKey: 'train/loss' })).rowCount;
      expect(seen).toBeLessThan(45);
      await live.close();

      await demo.sees(
        /Training completed after 45 of 45 steps in .*, validation accuracy 0\.\d+\.\n/,
      );
      await demo.sees(
        /\nPhases: initialization and adaptation \(steps 0 to \d+\), .*\.\n(The analysis has|Alerts:)/,
      );
      await demo.sees(/stays at .* until you press Ctrl-C/);
      expect((await fetch(base)).status).toBe(200);
      demo.interrupt();
      expect(await demo.ended).toBe(0);
      expect(demo.err).toBe('');
      await expect(fetch(base)).rejects.toThrow('fetch failed');

      await readRun('full', runId, async (reader) => {
        expect(reader.run).toMatchObject({
          status: 'completed',
          tags: ['demo', 'cpu'],
          config: { epochs: 1, seed: 7, backend: 'cpu', train_images: 1438, val_images: 359 },
        });
        const losses = await reader.readMetricColumns({ metricKey: 'train/loss' });
        expect(Array.from(losses.steps)).toStrictEqual(
          Array.from({ length: 45 }, (_, step) => step),
        );
        expect(last(losses.values)).toBeLessThan((losses.values[0] ?? 0) * 0.95);
        expect((await reader.readMetricColumns({ metricKey: 'val/accuracy' })).rowCount).toBe(1);
        expect(await reader.metricKeys()).toEqual(
          expect.arrayContaining([
            'optimizer/lr',
            'perf/step_time_ms',
            'train/accuracy',
            'val/loss',
          ]),
        );
        const types = (await reader.readEvents())
          .map(({ eventType }) => eventType)
          // A loaded machine may be told to hold steps up, and how much is measured depends on how long it takes.
          .filter((type) => type !== 'alert' && type !== 'overhead_measured');
        expect(types).toStrictEqual([
          'run_started',
          'training_total',
          'training_started',
          'epoch_ended',
          'run_ended',
        ]);
      });
    },
    TIMEOUT_MS,
  );

  it(
    'ends the run as interrupted at the first Ctrl-C, with everything so far recorded',
    async () => {
      const demo = new Command([
        'demo',
        '--epochs',
        '50',
        '--backend',
        'wasm',
        '--json',
        '--port',
        '0',
        '--storage-dir',
        'cut',
      ]);
      const [, runId = ''] = await demo.sees(/"run_id":"(run_\w+)"/);
      await demo.sees(/"event":"epoch".*\n/);
      demo.interrupt();
      expect(await demo.ended).toBe(130);
      const events = demo.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { event: string; status?: string; step: number });
      const ended = events.at(-1);
      expect(ended).toMatchObject({ event: 'ended', status: 'interrupted' });
      expect(ended).toHaveProperty('phases.0.phase_name', 'initialization_adaptation');
      await readRun('cut', runId, async (reader) => {
        expect(reader.run.status).toBe('interrupted');
        expect((await reader.readMetricColumns({ metricKey: 'train/loss' })).rowCount).toBe(
          ended?.step,
        );
        expect(await reader.readEvents({ eventType: 'runtime_interruption' })).toHaveLength(1);
      });
    },
    TIMEOUT_MS,
  );

  it('ends quietly when its reader goes away', async () => {
    const dashboard = new Command([
      'dashboard',
      '--port',
      '0',
      '--storage-dir',
      'full',
      '--no-open',
    ]);
    const [, base = ''] = await dashboard.sees(/Dashboard: (http:\S+)\n/);
    expect((await fetch(`${base}api/v1/runs`)).status).toBe(200);
    dashboard.hangUp();
    expect((await fetch(`${base}api/v1/runs`)).status).toBe(200);
    dashboard.interrupt();
    expect(await dashboard.ended).toBe(0);
    const help = new Command(['--help']);
    help.hangUp();
    expect(await help.ended).toBe(0);
    expect(help.err).toBe('');
  });

  it('says in words what is wrong', async () => {
    const wrong = new Command(['show', 'nothing', '--storage-dir', 'full']);
    expect(await wrong.ended).toBe(3);
    expect(wrong.err).toMatch(/^error: No run "nothing" in .*there with "quark runs"\.\n$/);
  });
});

describe.skipIf(!existsSync(site))('quark demo, in this process (needs "npm run build")', () => {
  it(
    'draws a bar in a terminal, opens the page, and goes the same way for the same seed',
    async () => {
      const losses: number[][] = [];
      for (const dir of casesOf(['one', 'two'], 1)) {
        const io = new FakeIo({ cwd: folder, columns: 100 });
        const running = runCli(
          ['demo', '--epochs', '2', '--backend', 'wasm', '--port', '0', '--storage-dir', dir],
          io,
        );
        await io.sees(/until you press Ctrl-C/);
        io.interrupt();
        expect(await running).toBe(0);
        expect(io.isListening).toBe(false);
        const [url = '', runId = ''] = /http:\S+#\/runs\/(run_\w+)/.exec(io.out) ?? [];
        expect(io.opened).toStrictEqual([url]);
        // oxlint-disable-next-line no-control-regex -- takes the colours away
        const drawn = io.out.replace(/\u001b\[\d+m/g, '').split('\r\u001b[2K');
        expect(drawn.length).toBeGreaterThan(3);
        expect(
          drawn.some((line) =>
            /^Epoch 2\/2  ━+─+  \d+%  loss \d\.\d{4}  val accuracy 0\.\d{3}  ETA 0:\d\d$/.test(
              line,
            ),
          ),
        ).toBe(true);
        expect(Math.max(...drawn.slice(1, -1).map((line) => line.length))).toBeLessThan(100);
        await readRun(dir, runId, async (reader) => {
          losses.push(
            Array.from((await reader.readMetricColumns({ metricKey: 'train/loss' })).values),
          );
        });
      }
      expect(losses[0]).toHaveLength(90);
      for (const again of losses.slice(1)) expect(again).toStrictEqual(losses[0]);
    },
    TIMEOUT_MS,
  );

  it(
    'does not wait for anything at the second Ctrl-C',
    async () => {
      const io = new FakeIo({ cwd: folder });
      const running = runCli(
        ['demo', '--epochs', '50', '--backend', 'wasm', '--port', '0', '--storage-dir', 'twice'],
        io,
      );
      await io.sees(/Epoch 1\/50/);
      io.interrupt();
      expect(io.exits).toStrictEqual([]);
      io.interrupt();
      expect(io.exits).toStrictEqual([130]);
      expect(await running).toBe(130);
    },
    TIMEOUT_MS,
  );

  it.each([
    ['a pipe', {}, []],
    ['CI', { columns: 80, env: { CI: '1' } }, []],
    ['--no-open', { columns: 80 }, ['--no-open']],
  ])('does not open the page for %s', async (_name, options, args) => {
    const io = new FakeIo({ cwd: folder, ...options });
    const running = runCli(['dashboard', '--port', '0', '--storage-dir', 'one', ...args], io);
    await io.sees(/Dashboard: http/);
    io.interrupt();
    expect(await running).toBe(0);
    expect(io.opened).toStrictEqual([]);
  });

  it('says which port is taken, and takes another one where none was asked for', async () => {
    const first = new FakeIo({ cwd: folder });
    const running = runCli(['dashboard', '--storage-dir', 'one'], first);
    const [, port = ''] = await first.sees(/Dashboard: http:\/\/127\.0\.0\.1:(\d+)/);
    const taken = await quark(['dashboard', '--storage-dir', 'one', '--port', port], {
      cwd: folder,
    });
    expect([taken.code, taken.stderr.includes(`Port ${port}`)]).toStrictEqual([1, true]);
    const second = new FakeIo({ cwd: folder });
    const beside = runCli(['dashboard', '--storage-dir', 'one'], second);
    expect((await second.sees(/Dashboard: http:\/\/127\.0\.0\.1:(\d+)/))[1]).not.toBe(port);
    first.interrupt();
    second.interrupt();
    expect(await Promise.all([running, beside])).toStrictEqual([0, 0]);
  });

  it('makes nothing when there is nothing to show', async () => {
    const ran = await quark(['dashboard', '--storage-dir', 'nowhere'], { cwd: folder });
    expect(ran.code).toBe(3);
    expect(existsSync(join(folder, 'nowhere'))).toBe(false);
  });
});
