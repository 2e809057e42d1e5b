// Where does a program need memory and time? Scopes, checkpoints, a metric of one's own, and the exports.
//
//   node examples/profile.mjs
//   npx quark-sdk profile latest --storage-dir quark-runs
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MetricsLogger, TrainingSession } from 'quark-sdk';
import {
  profileFindings,
  profilerOf,
  ProfileStep,
  profileTrace,
  profileYaml,
  startProfiler,
} from 'quark-sdk/profiler';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
const queue = [];

await TrainingSession.run(
  {
    project: 'profile',
    storageDir,
    // `profile: true` takes the defaults; a function hands in options.
    profile: (session) =>
      startProfiler(session, {
        metrics: [
          { name: 'queue_items', unit: 'items', kind: 'checkpoint', collect: () => queue.length },
        ],
      }),
  },
  async (session) => {
    const profiler = profilerOf(session);
    const metrics = new MetricsLogger(session);

    const data = await profiler.scope(ProfileStep.DATASET_LOADING, async () =>
      Float64Array.from({ length: 1 << 20 }, (_, i) => Math.sin(i)),
    );
    profiler.checkpoint('Data loaded');

    // Forgets its batches in a list: the profile shows what grows.
    const evaluate = profiler.profiled(ProfileStep.MODEL_EVALUATION, () => {
      queue.push(new Uint8Array(16 << 20).fill(1));
      return data.reduce((sum, x) => sum + x * x, 0) / data.length;
    });
    for (let epoch = 0; epoch < 6; epoch++) {
      await profiler.scope(ProfileStep.EPOCH, async () => {
        for (let step = 0; step < 20; step++)
          metrics.log('train/loss', 1 / (1 + step + 20 * epoch), {
            step: 20 * epoch + step,
            epoch,
          });
        metrics.log('val/loss', evaluate(), { step: 20 * epoch + 19, epoch });
      });
    }

    const profile = await profiler.close();
    writeFileSync(join(storageDir, 'quark_profile.yaml'), profileYaml(profile));
    // Opens in ui.perfetto.dev.
    writeFileSync(join(storageDir, 'trace.json'), JSON.stringify(profileTrace(profile)));
    for (const finding of profileFindings(profile)) {
      if (finding.kind === 'growth')
        console.log(`${finding.measure} grows with each ${finding.scopeName}: ${finding.culprit}`);
      if (finding.kind === 'peak') console.log(`peak in ${finding.path.join(' > ')}`);
    }
    console.log(`Run ${session.runId}`);
  },
);
