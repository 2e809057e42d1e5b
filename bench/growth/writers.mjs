// Programs that record into one folder at the same time: what they record together, and how long each waits.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from '../harness.mjs';

export const title = 'so many processes record 20 metrics into one folder';
export const sizes = [1, 4, 16, 64];
const SECONDS = 3;
/** Rows of a flush. */
const BATCH = 1000;

export async function measure(count, { urlOf, folder }) {
  const program = fileURLToPath(new URL('writer.mjs', import.meta.url));
  const args = [urlOf('index.js'), join(folder, 'runs'), String(SECONDS), String(BATCH)];
  const writers = Array.from({ length: count }, () => fork(program, args));
  try {
    const answersOf = () => Promise.all(writers.map(answerOf));
    await answersOf();
    const phase = async () => {
      const before = performance.now();
      const answers = answersOf();
      for (const writer of writers) writer.send({});
      const found = await answers;
      return { found, ms: performance.now() - before };
    };
    const started = await phase();
    const recorded = await phase();
    const ended = await phase();
    const sum = (field) => recorded.found.reduce((all, one) => all + one[field], 0);
    const most = ({ found }, field) => Math.max(...found.map((one) => one[field]));
    return {
      'startRun, median (ms)': median(started.found.map(({ startMs }) => startMs)),
      'startRun, longest (ms)': most(started, 'startMs'),
      'points a second, together': (1000 * sum('points')) / recorded.ms,
      'points a second of processor': (1000 * sum('points')) / sum('cpuMs'),
      'longest log of a step (ms)': most(recorded, 'longestMs'),
      'last flush, longest (ms)': most(recorded, 'flushMs'),
      'dropped rows': sum('dropped'),
      'endRun, longest (ms)': most(ended, 'endMs'),
    };
  } finally {
    for (const writer of writers) writer.kill();
  }
}

function answerOf(child) {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`a writer ended with ${code}`)));
  });
}
