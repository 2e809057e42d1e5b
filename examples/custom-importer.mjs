// Reads a format that Quark does not know, with an importer of its own. Run: node examples/custom-importer.mjs
// Then look at it: npx quark-sdk dashboard
import { openRun, openStorage } from 'quark-sdk';
import { bytesInput, importRuns } from 'quark-sdk/exchange';

/** A line such as `#12;loss:0.5;val:0.6`, below a first line that says what the file is. */
const LINE = /^#(\d+);loss:([^;]+);val:(.+)$/;

const rowLog = {
  format: 'row_log',
  title: 'Row log',
  // By the content: 0 is no, 1 is certain.
  detect: ({ text }) => (text.startsWith('ROWLOG 1\n') ? 1 : 0),
  async read(files, context) {
    for (const file of files) {
      const sink = await context.run({ identity: file.path, name: file.path });
      const loss = sink.metric('train/loss');
      const val = sink.metric('val/loss');
      const text = new TextDecoder().decode(await file.slice(0, file.sizeBytes));
      for (const [i, line] of text.split('\n').slice(1).entries()) {
        const [, step, train, other] = LINE.exec(line) ?? [];
        if (step !== undefined) {
          sink.push(loss, Number(train), Number(step), Number.NaN, Number.NaN);
          sink.push(val, Number(other), Number(step), Number.NaN, Number.NaN);
        } else if (line !== '')
          context.problem({ file: file.path, place: `line ${i + 2}`, reason: 'It is no row.' });
        if (sink.isFull) await sink.flush();
      }
    }
  },
};

// From Node, `openInputFiles` of quark-sdk/node gives files of a disk; here is one in memory.
const lines = Array.from(
  { length: 50 },
  (_, i) => `#${i};loss:${2 / (i + 1)};val:${2.1 / (i + 1)}`,
);
const file = bytesInput('demo.rowlog', `ROWLOG 1\n${lines.join('\n')}\nbroken\n`);

const store = await openStorage(process.env.QUARK_STORAGE_DIR ?? 'quark-runs');
const { problems, runs } = await importRuns([file], store, { importers: [rowLog] });
for (const { file: path, place, reason } of problems) console.log(`${path}, ${place}: ${reason}`);
const run = await openRun(store, runs[0].runId);
const { values } = await run.readMetricColumns({ metricKey: 'val/loss' });
console.log(`${runs[0].format}: ${values.length} values, the last is ${values.at(-1)}`);

// One that is wrong is refused before anything is read.
const wrong = { ...rowLog, detect: undefined };
await importRuns([file], store, { importers: [wrong] }).catch(({ message }) =>
  console.log(message),
);
await store.close();
