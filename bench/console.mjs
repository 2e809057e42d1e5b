// What it costs a program that what it prints is captured, and whether 100,000 lines a second arrive.
//
//   npm run bench -- console
//
// The program prints 100,000 lines of 80 characters a second for ten seconds, in portions of 1000 every 10 ms, to a stream that throws
// them away; the run is stored in SQLite. Inside the figures of a line: everything that `process.stdout.write` does beyond that.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openRun, openStorage, startRun } from '../dist/index.js';
import { captureConsole, readConsole } from '../dist/console.js';

const SECONDS = 10;
const LINES_A_SECOND = 100_000;
const PORTION = 1000;
const build = fileURLToPath(new URL('../build/', import.meta.url));
await mkdir(build, { recursive: true });
const root = await mkdtemp(join(build, 'bench-console-'));
const { stdout } = process;
const original = stdout.write.bind(stdout);
const line = (i) =>
  `step ${i} train/loss ${(1 / (1 + i)).toFixed(8)} lr 0.001000 images/s 1234.5 ${'.'.repeat(24)}\n`;

/** Milliseconds in which the program printed, of all. */
async function print() {
  let printing = 0;
  const start = performance.now();
  const portions = (SECONDS * LINES_A_SECOND) / PORTION;
  for (let portion = 0; portion < portions; portion++) {
    const begun = performance.now();
    for (let i = 0; i < PORTION; i++) process.stdout.write(line(portion * PORTION + i));
    printing += performance.now() - begun;
    const due = start + ((portion + 1) * PORTION * 1000) / LINES_A_SECOND;
    await sleep(Math.max(0, due - performance.now()));
  }
  return { printing, all: performance.now() - start, cpu: process.cpuUsage() };
}

const storageDir = join(root, 'runs');
try {
  // The stream itself would be most of the figure.
  stdout.write = () => true;
  const before = process.cpuUsage();
  const plain = await print();
  const between = process.cpuUsage();
  const session = await startRun({ project: 'console', storageDir });
  const capture = captureConsole(session);
  const captured = await print();
  await capture.stop();
  const after = process.cpuUsage();
  await session.endRun();
  const { runId } = session;
  await session.close();
  stdout.write = original;
  const store = await openStorage(storageDir, { create: false });
  const reader = await openRun(store, runId);
  const start = performance.now();
  const { droppedLines, lines, storedLines } = await readConsole(reader);
  const read = performance.now() - start;
  const bytes = (await reader.readArtifacts()).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await store.close();
  const cpu = (a, b) => (b.user + b.system - a.user - a.system) / 1000;
  const total = SECONDS * LINES_A_SECOND;
  console.log(`lines printed ${total}, stored ${storedLines}, dropped ${droppedLines}`);
  console.log(`a second of the program: ${(captured.all / SECONDS).toFixed(0)} ms`);
  console.log(
    `printing a line: ${((plain.printing * 1e6) / total).toFixed(0)} ns plain, ${((captured.printing * 1e6) / total).toFixed(0)} ns captured`,
  );
  console.log(
    `CPU time a second: ${(cpu(before, between) / SECONDS).toFixed(0)} ms plain, ${(cpu(between, after) / SECONDS).toFixed(0)} ms captured and stored`,
  );
  console.log(`stored bytes a line: ${(bytes / total).toFixed(1)} of ${line(1).length}`);
  console.log(`the latest ${lines.length} lines read in ${read.toFixed(0)} ms`);
} finally {
  stdout.write = original;
  await rm(root, { recursive: true, force: true });
}
