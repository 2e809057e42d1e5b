/** Our own Arrow export of metrics. Names are keys already: no rule is asked. */
import { invalidInput } from '../../base/errors.ts';
import { readArrowMetrics, type MetricRows } from '../arrow-metrics.ts';
import { fileName, type InputFile } from '../input.ts';
import type { ImportContext, Importer, RunSink } from '../importer.ts';

const FLUSH_ROWS = 65_536;

/** Metrics that `exportMetricsArrow` wrote. */
export const quarkArrow: Importer = {
  format: 'quark_arrow',
  title: "Quark's Arrow export of metrics",
  detect({ bytes, text }) {
    // A stream begins with a continuation mark; the schema names the table.
    const isStream = [0, 1, 2, 3].every((i) => bytes[i] === 0xff);
    return isStream && text.includes('quark:table') && text.includes('metric_key') ? 1 : 0;
  },
  async read(files, context) {
    for (const file of files) await readFile(file, context);
  },
};

async function readFile(file: InputFile, context: ImportContext): Promise<void> {
  const { maxDocumentBytes } = context.limits;
  if (file.sizeBytes > maxDocumentBytes)
    throw invalidInput(
      'file.sizeBytes',
      file.sizeBytes,
      `at most ${maxDocumentBytes} (limits.maxDocumentBytes)`,
    );
  const batches = readArrowMetrics(await file.slice(0, file.sizeBytes));
  const sink = await context.run({
    identity: file.path,
    name: fileName(file.path).replace(/\.[^.]*$/, ''),
    startedAtMs: batches[0]?.timestampsMs[0] ?? null,
  });
  for (const rows of batches) await pushRows(rows, sink);
}

async function pushRows(rows: MetricRows, sink: RunSink): Promise<void> {
  const metrics = rows.keys.map(() => -2);
  for (let i = 0; i < rows.rowCount; i++) {
    const key = rows.keyIndex[i] ?? -1;
    if (key < 0) continue;
    let metric = metrics[key] ?? -1;
    if (metric === -2) metrics[key] = metric = sink.metric(rows.keys[key] ?? '');
    sink.push(
      metric,
      rows.values[i] ?? Number.NaN,
      rows.steps[i] ?? Number.NaN,
      rows.epochs[i] ?? Number.NaN,
      rows.timestampsMs[i] ?? Number.NaN,
    );
    if (sink.pendingRows > FLUSH_ROWS) await sink.flush();
  }
}
