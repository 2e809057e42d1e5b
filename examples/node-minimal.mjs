// Fits a line by gradient descent and records every step. Run: node examples/node-minimal.mjs
// Then look at it: npx quark-sdk dashboard
import { MetricsLogger, TrainingSession } from 'quark-sdk';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
const steps = 200;
const learningRate = 0.1;

await TrainingSession.run(
  { project: 'line', storageDir, config: { learning_rate: learningRate } },
  async (session) => {
    const metrics = new MetricsLogger(session);
    const xs = Float64Array.from({ length: 50 }, (_, i) => i / 50);
    const ys = xs.map((x) => 3 * x - 1);
    let slope = 0;
    let offset = 0;

    for (let step = 0; step < steps; step += 1) {
      let loss = 0;
      let slopeGradient = 0;
      let offsetGradient = 0;
      for (const [i, x] of xs.entries()) {
        const error = slope * x + offset - ys[i];
        loss += error ** 2 / xs.length;
        slopeGradient += (2 * error * x) / xs.length;
        offsetGradient += (2 * error) / xs.length;
      }
      slope -= learningRate * slopeGradient;
      offset -= learningRate * offsetGradient;
      metrics.logMany({ 'train/loss': loss, 'line/slope': slope, 'line/offset': offset }, { step });
    }

    // Reading flushes first: what was logged is there.
    const losses = await metrics.readColumns({ metricKey: 'train/loss' });
    console.log(
      `Run ${session.runId}: loss ${losses.values[0].toFixed(4)} -> ${losses.values.at(-1).toFixed(6)}`,
    );
    console.log(`Recorded in ${session.runPath}`);
  },
);
