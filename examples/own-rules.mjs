// Judges a training by rules of one's own: one with a function, two without code. Run: node examples/own-rules.mjs
import { MetricsLogger, TrainingSession } from 'quark-sdk';
import { AnalyzerEngine, defineRule } from 'quark-sdk/analysis';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';

const gap = defineRule({
  id: 'validation_gap',
  category: 'generalization',
  cause: 'the training set is too small for the model',
  advice: 'augment the data',
  thresholds: { maxGap: { value: 0.5, doc: 'Most that validation may lie above training.' } },
  evaluate({ columns, thresholds, unjudged }) {
    const last = (key) => columns.metrics.get(key)?.values.at(-1);
    const [train, val] = [last('train/loss'), last('val/loss')];
    if (train === undefined || val === undefined) {
      unjudged('it takes train/loss and val/loss.');
      return [];
    }
    if (val - train <= thresholds.maxGap) return [];
    const fact = `Validation lies ${(val - train).toFixed(2)} above training at the end.`;
    return [{ severity: 'warning', title: 'A wide gap', fact, confidence: 0.8 }];
  },
});

try {
  defineRule({ id: 'Wrong id', evaluate: () => [] });
} catch (error) {
  console.log(error.message); // says what is wrong, and what would be right
}

await TrainingSession.run({ project: 'own-rules', storageDir }, async (session) => {
  const engine = new AnalyzerEngine(session, {
    rules: [
      gap,
      { metric: 'data/queue', below: 2, for: '5 steps', advice: 'Read the data ahead.' },
      { metric: 'val/*', stallsFor: '20 steps', direction: 'down' },
    ],
  });
  const metrics = new MetricsLogger(session);
  for (let step = 0; step < 60; step++) {
    metrics.log('train/loss', 2 * Math.exp(-step / 10), { step });
    metrics.log('val/loss', 0.8 + 1.2 * Math.exp(-step / 5) + step / 200, { step });
    metrics.log('data/queue', step > 30 && step < 40 ? 0 : 8, { step });
  }
  await session.alert({
    title: 'Samples look wrong',
    text: 'A tenth of the images is black.',
    severity: 'info',
  });
  await engine.silence({ ruleId: 'data/queue.below', reason: 'The disk was busy.', by: 'Ada' });
  const { alerts, silenced } = await engine.analyze();
  for (const { fact, ruleId } of alerts) console.log(`${ruleId}: ${fact}`);
  for (const { alert, silence } of silenced)
    console.log(`${alert.ruleId} is silenced by ${silence.by}: ${silence.reason}`);
});
