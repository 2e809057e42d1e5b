// Finds the batches that a model has trouble with: here one whose labels are wrong. Run: node examples/data-diagnostics.mjs
import { MetricsLogger, TrainingSession } from 'quark-sdk';
import { DataDiagnostics, MappingBatchMetadataAdapter } from 'quark-sdk/probes';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';

// Points and whether they lie above a line. Class 1 is rarer; the labels of one batch have been mixed up.
const SPOILED = 17;
const batches = Array.from({ length: 40 }, (_, index) => {
  const ids = Array.from({ length: 16 }, (_unused, i) => `point-${index * 16 + i}`);
  const points = ids.map((_id, i) => {
    const angle = (index * 16 + i) * 2.399963; // evenly spread, the same every time
    const radius = Math.sqrt(((index * 16 + i) % 97) / 97);
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
  const labels = points.map(([x, y]) => (y > 0.4 + 0.2 * x ? 1 : 0));
  return { ids, points, labels: index === SPOILED ? labels.map((label) => 1 - label) : labels };
});

let [w0, w1, bias] = [0, 0, 0];

function trainOn({ points, labels }) {
  let loss = 0;
  let [g0, g1, gb] = [0, 0, 0];
  for (const [i, [x, y]] of points.entries()) {
    const p = 1 / (1 + Math.exp(-(w0 * x + w1 * y + bias)));
    const label = labels[i];
    loss -= Math.log(Math.max(1e-12, label === 1 ? p : 1 - p)) / points.length;
    g0 += ((p - label) * x) / points.length;
    g1 += ((p - label) * y) / points.length;
    gb += (p - label) / points.length;
  }
  [w0, w1, bias] = [w0 - 2 * g0, w1 - 2 * g1, bias - 2 * gb];
  return loss;
}

await TrainingSession.run({ project: 'line', storageDir, tags: ['data'] }, async (session) => {
  const metrics = new MetricsLogger(session);
  const diagnostics = new DataDiagnostics(session, {
    adapter: new MappingBatchMetadataAdapter({ sampleIdKey: 'ids', labelKey: 'labels' }),
  });
  for (let epoch = 0; epoch < 5; epoch++) {
    for (const [i, batch] of batches.entries()) {
      const step = epoch * batches.length + i;
      const loss = trainOn(batch);
      metrics.log('train/loss', loss, { step, epoch });
      diagnostics.logBatch(loss, { step, epoch, batch });
    }
  }
  const { exposure, hardBatches } = await diagnostics.summarize({ epochMin: 3, hardBatchLimit: 3 });
  console.log(`Run ${session.runId}, recorded in ${session.runPath}`);
  console.log(
    `Class ${exposure.majorityClass} is ${exposure.imbalanceRatio?.toFixed(1)} times as frequent.`,
  );
  for (const { step, loss, reasons, sampleIds } of hardBatches) {
    const [first = 'unknown'] = sampleIds ?? [];
    console.log(`Step ${step}: loss ${loss.toFixed(2)} (${reasons.join(', ')}), from ${first} on`);
  }
});
