// A training process for the tests beside this file: `node child.mjs MODE DIRECTORY [RUN_ID] [COUNT]`.
import { captureConsole } from '../../dist/console.js';
import { MetricsLogger, startRun, TrainingSession } from '../../dist/index.js';

const [, , mode, storageDir, runId, count = '0'] = process.argv;
const say = (text) => process.stdout.write(`${text}\n`);

switch (mode) {
  case 'run':
    // Trains until it is told to stop.
    await TrainingSession.run({ project: 'p', storageDir }, async (session) => {
      const metrics = new MetricsLogger(session, {
        flushIntervalMs: 3_600_000,
        batchSize: 1_000_000,
      });
      metrics.log('a', 1, { step: 0 });
      say(session.runId);
      const training = setInterval(() => undefined, 1000);
      await new Promise((resolve) => session.signal.addEventListener('abort', resolve));
      clearInterval(training);
    });
    break;
  case 'outlive': {
    // Goes on until a line comes; says after which step its terminal was closed.
    const session = await startRun({ project: 'p', storageDir });
    const metrics = new MetricsLogger(session);
    metrics.log('a', 1, { step: 0 });
    await metrics.flush();
    say(session.runId);
    const { existsSync } = await import('node:fs');
    while (!existsSync(runId)) await new Promise((resolve) => setTimeout(resolve, 20));
    metrics.log('a', 2, { step: 1 });
    await session.endRun('completed');
    await session.close();
    break;
  }
  case 'exit': {
    // Leaves without a word, with samples that no flush has seen.
    const session = await startRun({ project: 'p', storageDir, leaseTtlMs: 60_000 });
    const metrics = new MetricsLogger(session, {
      flushIntervalMs: 3_600_000,
      batchSize: 1_000_000,
    });
    for (let step = 0; step < 500; step++) metrics.log('a', step, { step });
    metrics.log('a', Number.NaN, { step: 500 });
    say(session.runId);
    process.exit(3);
    break;
  }
  case 'drain': {
    // Lets the event loop run dry with an open session.
    const session = await startRun({ project: 'p', storageDir });
    new MetricsLogger(session).log('a', 7, { step: 0 });
    captureConsole(session, { flushIntervalMs: 3_600_000 });
    say(session.runId);
    break;
  }
  case 'print': {
    // Prints more than one chunk may have, and ends in the way that is asked for, in the turn of the event loop in which it printed.
    const session = await startRun({ project: 'p', storageDir });
    const capture = captureConsole(session, { flushIntervalMs: 3_600_000, secrets: ['hunter2'] });
    say(session.runId);
    let noise = 1;
    for (let line = 0; line < 20_000; line++) {
      noise = (noise * 48_271) % 2_147_483_647;
      process.stdout.write(
        `line ${line} ${noise.toString(36)}${(noise * 7919).toString(36)} hunter2\n`,
      );
      // One that is being compressed when the process ends.
      if (line === 100) void capture.flush();
    }
    process.stdout.write('no end');
    if (runId === 'exit') process.exit(3);
    if (runId === 'reject') void Promise.reject(new Error('nobody catches this'));
    else throw new Error('nobody catches this');
    break;
  }
  case 'attach': {
    const session = await TrainingSession.attachRun({ runId, storageDir });
    const metrics = new MetricsLogger(session, { batchSize: 50 });
    for (let step = 0; step < Number(count); step++) {
      metrics.log(`from_${process.pid}`, step, { step });
      if (step % 500 === 0) await session.addTag(`tag_${process.pid}_${step}`);
    }
    await session.close();
    break;
  }
  default:
    throw new Error(`no mode ${mode}`);
}
