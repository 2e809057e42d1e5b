// A tracker that the training loop does not know: d9d's tracker, as one writes it here. The configuration is what a file of
// configuration has, the state of the tracker goes into the checkpoint of the program, and a training that is cut off goes on as one curve.
//
//     node examples/from-d9d.mjs
import { listRuns, openRun, openStorage } from 'quark-sdk';
import { openTracker } from 'quark-sdk/tracker';

const storage = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';

// tracker_from_config(config): the field "provider" says which.
const config = JSON.parse(
  JSON.stringify({
    provider: 'tee',
    trackers: [
      { provider: 'quark', storage },
      { provider: 'tensorboard', directory: `${storage}/logs` },
    ],
  }),
);
// RunConfig(name=..., description=..., hparams=...)
const run = {
  project: 'from-d9d',
  name: 'r',
  description: 'two stages, one loop',
  parameters: { run: { lr: 0.01 }, params: { task: 'x' } },
};

/** The loop knows the tracker and nothing of what is behind it. */
async function train(tracker, weights, steps, checkpoint) {
  tracker.setContext({ stage: 'train' });
  for (let step = weights.step; step < steps; step++) {
    tracker.setStep(step);
    weights.value -= 0.1 * weights.value;
    tracker.scalar('loss', weights.value ** 2);
    // The context of a call is merged over that of the tracker.
    tracker.scalar('metrics/acc/0', 1 - weights.value / 5, { context: { split: 'a' } });
    // run.bins(name, values): values are counted here; { bins, counts } passes what was counted.
    if (step % 10 === 0) tracker.distribution('logits', [weights.value, weights.value / 2, 0]);
    weights.step = step + 1;
    if (step === checkpoint) return JSON.stringify({ ...weights, tracker: await tracker.state() });
  }
  return undefined;
}

const first = await openTracker({ ...config, ...run });
const weights = { step: 0, value: 5 };
const saved = await train(first, weights, 100, 59);
// It goes on for a while, and is cut off.
await train(first, weights, 75);
await first.close('interrupted');

// A new process: tracker.load_state_dict(state), then tracker.open(...).
const { tracker: resume, ...restored } = JSON.parse(saved);
const second = await openTracker({ ...config, resume });
await train(second, restored, 100);
await second.close();

const store = await openStorage(storage);
const [{ run: record }] = await listRuns(store, { project: 'from-d9d' });
const reader = await openRun(store, record.id);
const { steps } = await reader.readMetricColumns({ metricKey: 'loss {stage=train}' });
console.log(`${record.name}: ${steps.length} steps, resumed ${record.resumeCount} time`);
console.log(`${await reader.supersededRows()} rows were overtaken`);
await store.close();

// provider: 'null' is for processes that are not to log.
const silent = await openTracker({ provider: 'null', ...run });
silent.scalar('loss', 1);
await silent.close();
