/** `quark demo`: trains a small network on this machine, records it, and shows it while it trains. */
import { resolve } from 'node:path';
import { AnalyzerEngine, PhaseAnalyzer } from '../../analysis.ts';
import { isQuarkError, openStorage, TrainingSession, type Store } from '../../index.ts';
import type { ServedStore } from '../../node.ts';
import { UsageError } from '../support/args.ts';
import {
  DEFAULT_STORAGE_DIR,
  EXIT,
  JSON_OPTION,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import {
  DEFAULT_EPOCHS,
  DEFAULT_SEED,
  prepareDemo,
  type DemoBackend,
  type DemoTraining,
} from '../support/demo-training.ts';
import {
  jsonProgress,
  lineProgress,
  terminalProgress,
  type ProgressLine,
  type RunMeaning,
} from '../support/progress.ts';
import { dashboardDir, openPage, SERVE_OPTIONS, serveDashboard } from '../support/site.ts';

/** Longest pause of the training for the page's requests, in milliseconds. */
const LONGEST_TURN_MS = 250;

/** So long after a request the page is taken to have got what it wanted for now, in milliseconds. */
const QUIET_MS = 20;

const BACKENDS: readonly DemoBackend[] = ['cpu', 'wasm'];

export const demoCommand: Command = {
  spec: {
    name: 'demo',
    summary: 'Train a small network here and watch it in the browser.',
    positionals: [],
    options: {
      'storage-dir': {
        kind: 'text',
        value: 'DIR',
        help: `Folder to record into. Default: ./${DEFAULT_STORAGE_DIR}.`,
      },
      ...SERVE_OPTIONS,
      epochs: {
        kind: 'count',
        value: 'N',
        max: 10_000,
        help: `How often to go through the images. Default: ${DEFAULT_EPOCHS}.`,
      },
      seed: {
        kind: 'count',
        value: 'N',
        max: 2 ** 31 - 1,
        help: `Decides weights, split and order. Default: ${DEFAULT_SEED}.`,
      },
      backend: {
        kind: 'text',
        value: 'NAME',
        help: 'Where TensorFlow.js computes. Default: cpu.',
        choices: BACKENDS,
      },
      json: { ...JSON_OPTION, help: 'Write progress as one JSON object a line; errors, too.' },
    },
    notes: [
      'Trains on 1,797 images of handwritten digits: a convolutional network on cpu, a dense one on wasm (TensorFlow.js cannot\n' +
        'train convolutions there). Needs @tensorflow/tfjs, and @tensorflow/tfjs-backend-wasm for wasm.',
      'Ctrl-C ends the training, and the run as interrupted; pressed twice it ends the command at once. After the training the\n' +
        'page is served until Ctrl-C.',
    ],
  },
  async run(context) {
    const { io, args } = context;
    const epochs = args.count('epochs') ?? DEFAULT_EPOCHS;
    if (epochs === 0) throw new UsageError('--epochs must be at least 1', 'demo');
    const backend = BACKENDS.find((known) => known === args.text('backend')) ?? 'cpu';
    // Whatever is missing is said before anything is made.
    const training = await prepareDemo({
      dataDir: dashboardDir(),
      backend,
      epochs,
      seed: args.count('seed') ?? DEFAULT_SEED,
    });
    const interruptions = watchInterrupts(context);
    try {
      const store = await openStorage(
        resolve(io.cwd, args.text('storage-dir') ?? DEFAULT_STORAGE_DIR),
      );
      try {
        const server = await serveDashboard(context, store);
        try {
          return await trainAndServe(context, training, store, server, interruptions);
        } finally {
          await server.close();
        }
      } finally {
        await store.close();
      }
    } finally {
      interruptions.stop();
      training.dispose();
    }
  },
};

/** The first interrupt asks for the end; the second does not wait for it. */
type Interrupts = { readonly signal: AbortSignal; readonly stop: () => void };

function watchInterrupts({ io }: CommandContext): Interrupts {
  const controller = new AbortController();
  const stop = io.onInterrupt(() => {
    if (controller.signal.aborted) io.exit(EXIT.interrupted);
    controller.abort();
  });
  return { signal: controller.signal, stop };
}

async function trainAndServe(
  context: CommandContext,
  training: DemoTraining,
  store: Store,
  server: ServedStore,
  interrupts: Interrupts,
): Promise<number> {
  const { io, args } = context;
  const session = await TrainingSession.startRun({
    project: 'digits',
    storage: store,
    config: training.config,
    tags: ['demo', training.config.backend],
    handleSignals: false,
  });
  const url = `${server.url}#/runs/${session.runId}`;
  const progress = progressFor(context);
  await report(
    progress.serving({ url, runId: session.runId, storageDir: store.location.storageDir }),
  );
  openPage(context, url);
  const startedMs = performance.now();
  try {
    // Alerts show on the page while it trains.
    new AnalyzerEngine(session).watch();
    const last = await training.train(session, interrupts.signal, async (at) => {
      await report(progress.step(at));
      await answerRequests(server);
    });
    if (interrupts.signal.aborted) {
      await session.addLog('Interrupted by the user.', {
        identifier: 'Warning',
        eventType: 'runtime_interruption',
        step: last.step,
      });
    }
    const meaning = await analyzed(session);
    const { status } = await session.endRun(
      interrupts.signal.aborted ? 'interrupted' : 'completed',
    );
    await report(progress.ended({ status, last, tookMs: performance.now() - startedMs, meaning }));
  } catch (error) {
    await recordFailure(session, error);
    throw error;
  }
  if (interrupts.signal.aborted) return EXIT.interrupted;
  if (!args.flag('json')) {
    await report(io.stdout.write(`The dashboard stays at ${url} until you press Ctrl-C.\n`));
  }
  await new Promise<void>((resolveWait) => {
    if (interrupts.signal.aborted) resolveWait();
    else interrupts.signal.addEventListener('abort', () => resolveWait(), { once: true });
  });
  return EXIT.ok;
}

/** Judges the run as it is now, and keeps the judgement with it. */
async function analyzed(session: TrainingSession): Promise<RunMeaning> {
  const { alerts } = await new AnalyzerEngine(session).analyze();
  const { phases } = await new PhaseAnalyzer(session).analyze();
  return { alerts, phases };
}

/** Notes why the training failed. Where the store is what failed, the error itself says more than this would. */
async function recordFailure(session: TrainingSession, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  try {
    await session.addLog(message, { identifier: 'Error', eventType: 'runtime_error' });
    await session.endRun('failed');
  } catch (second) {
    if (!isQuarkError(second)) throw second;
  }
}

/**
 * Gives the event loop to the page between two batches: training holds it otherwise. A page that loads asks for one
 * thing after the other, so after a request the next one is waited for a little.
 */
async function answerRequests(server: ServedStore): Promise<void> {
  const startedMs = performance.now();
  let busyMs = Number.NEGATIVE_INFINITY;
  let nowMs = startedMs;
  do {
    const before = server.requestCount;
    await new Promise((resolveTurn) => setTimeout(resolveTurn, 1));
    nowMs = performance.now();
    if (server.activeRequests > 0 || server.requestCount > before) busyMs = nowMs;
  } while (nowMs - busyMs < QUIET_MS && nowMs - startedMs < LONGEST_TURN_MS);
}

/** A reader who has gone (`quark demo | head -1`) does not end the training. */
async function report(work: Promise<void>): Promise<void> {
  await work.catch(() => undefined);
}

function progressFor({ io, args, style }: CommandContext): ProgressLine {
  if (args.flag('json')) return jsonProgress(io.stdout);
  return io.stdout.isTty ? terminalProgress(io.stdout, style) : lineProgress(io.stdout);
}
