// Track's overview, as one writes it here: a project, a group, a trial with arguments, metadata, metrics with and without a step, a
// timer, and the report at the end.
//
//     node examples/from-track.mjs
import { listRuns, MetricsLogger, openRun, openStorage, TrainingSession } from 'quark-sdk';
import { readTimers, Timers } from 'quark-sdk/profiler';
import { registerStorage } from 'quark-sdk/store';

// client = TrackClient('file://client_test.json')
const storage = `file:${encodeURI(process.env.QUARK_STORAGE_DIR ?? 'quark-runs')}`;

// client.set_project, client.set_group, client.new_trial, trial.log_arguments. The run ends with the block, as `with trial:` does: as
// failed where it throws, as interrupted by a signal.
const runId = await TrainingSession.run(
  {
    storage,
    project: 'paper_78997',
    groups: ['idea_4573'],
    name: 'final_trial_2',
    description: 'almost graduating',
    config: { batch_size: 256, lr: 0.01, momentum: 0.99 },
    tags: ['workers=8', 'hpo=byopt'],
  },
  async (session) => {
    const metrics = new MetricsLogger(session);
    const timers = new Timers(session, { skip: 1 });
    // trial.log_metadata(gpu='V100')
    await session.setMetadata({ gpu: 'V100', had_short_hair_when_running_this_trial: false });
    let weight = 2;
    for (let epoch = 0; epoch < 5; epoch++) {
      let loss = 0;
      for (let batch = 0; batch < 20; batch++)
        // with trial.chrono('batch_time'): a device that computes apart is waited for inside the function.
        loss += timers.time('batch_time', () => (weight -= 0.01 * weight) ** 2);
      // trial.log_metrics(step=e, epoch_loss=loss, metric2=value)
      metrics.logMany({ epoch_loss: loss, metric2: weight }, { step: epoch });
    }
    // trial.log_metrics(cost=val): a value that belongs to no step.
    metrics.log('cost', 3.2, { position: 'none' });
    // trial.log_metrics(accuracy=0.98): what the whole trial came to.
    await session.summary({ accuracy: 0.98 });
    return session.runId;
  },
);

// client.report()
const store = await openStorage(storage);
const reader = await openRun(store, runId);
const { config, configRevision: revision, description, name, status, tags } = reader.run;
const losses = await reader.readMetricColumns({ metricKey: 'epoch_loss' });
const timers = await readTimers(reader);
console.log(
  JSON.stringify(
    {
      revision,
      name,
      description,
      tags,
      parameters: config,
      metrics: {
        epoch_loss: Object.fromEntries(
          [...losses.steps].map((step, i) => [step, losses.values[i]]),
        ),
      },
      chronos: Object.fromEntries(
        timers.map(({ count, meanMs, name: timer }) => [timer, { count, meanMs }]),
      ),
      status,
    },
    null,
    2,
  ),
);

// register('byob', MyOwnBackend); client = TrackClient('byob://...')
registerStorage('byob', (uri, options) => openStorage(`memory:${uri}`, options));
const own = await openStorage('byob://here');
console.log(`${(await listRuns(own)).length} runs in a backend of one's own`);
await own.close();

// client = TrackClient('socket://...'): Quark's service speaks HTTP, which stands for it.
await openStorage('socket://127.0.0.1:8123').catch((error) => console.log(error.message));
await store.close();
