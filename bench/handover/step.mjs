// What a probed step with everything that a probe can ask takes of the training thread: 50 tensors of 20,480 values, 4 MB.
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

const LENGTH = 20_480;
const SHAPE = [160, 128];
const LAYERS = 20;
const PARAMETERS = 10;
/** Steps of one measurement: the first ones are not counted. */
const STEPS = 14;
const WARM_STEPS = 4;
/** Between two steps: time for a worker, as a training leaves it. The thread sleeps, so that all its processor time is the probes'. */
const TRAINING_MS = 6;
const asleep = new Int32Array(new SharedArrayBuffer(4));

/** Processor time of the main thread in milliseconds, which other processes do not lengthen as they do the time by the clock. */
function threadMs() {
  const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1e6;
}

function values(seed) {
  let state = seed;
  return Float32Array.from({ length: LENGTH }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

/** A model over plain arrays: 20 activations, and 10 parameters with gradients and values before the step. */
function arraySource() {
  const tensor = (data) => ({
    shape: SHAPE,
    dtype: 'float32',
    data,
    retain: () => ({ ...tensor(data), release: () => undefined }),
  });
  const activations = Array.from({ length: LAYERS }, (_, i) => tensor(values(i + 1)));
  const now = Array.from({ length: PARAMETERS }, (_, i) => tensor(values(i + 101)));
  const before = Array.from({ length: PARAMETERS }, (_, i) => tensor(values(i + 201)));
  const gradients = Array.from({ length: PARAMETERS }, (_, i) => tensor(values(i + 301)));
  const layerWatches = new Set();
  const parameterWatches = new Set();
  return {
    framework: 'arrays',
    layers: activations.map((_, i) => ({ name: `layer${i}`, type: 'Dense', isLeaf: true })),
    parameters: now.map((_, i) => ({
      name: `layer${i}/w`,
      moduleName: `layer${i}`,
      role: 'weight',
      shape: SHAPE,
      dtype: 'float32',
      optimizerGroup: null,
    })),
    watchLayers(watch) {
      layerWatches.add(watch);
      return () => layerWatches.delete(watch);
    },
    watchParameters(watch) {
      parameterWatches.add(watch);
      return () => parameterWatches.delete(watch);
    },
    readParameter: (i) => now[i],
    pass() {
      for (const watch of layerWatches) {
        activations.forEach((activation, layer) => {
          const point = { layer, direction: 'forward', outputIndex: 0, isTraining: true };
          watch.capture({ ...point, callIndex: watch.beginCall(layer) }, activation);
        });
      }
    },
    update() {
      for (const watch of parameterWatches) {
        gradients.forEach((gradient, i) => watch.changed(i, { gradient, before: before[i] }));
      }
    },
  };
}

/** A training with probes at every step, one measurement at a time. `turns`: whether it gives the event loop a turn a step. */
export async function openSteps(lib, { kernels: config, turns }) {
  const session = await lib.TrainingSession.startRun({
    project: 'handover',
    storage: lib.createMemoryStore(),
    handleSignals: false,
  });
  const kernels = config === undefined ? undefined : await lib.createKernels(config);
  const source = arraySource();
  const given = kernels === undefined ? {} : { kernels };
  const hooks = new lib.HookEngine(session, source, given);
  const parameters = new lib.ParameterDiagnostics(session, source, {
    ...given,
    captureDistributions: true,
    distributionTypes: ['value', 'gradient', 'update'],
  });
  let step = 0;
  const probe = () => {
    hooks.beginStep(step);
    source.pass();
    hooks.endStep();
    source.update();
    parameters.snapshot(step);
  };
  return {
    /** Milliseconds by the clock that one step blocks. */
    async once() {
      const began = performance.now();
      probe();
      const ms = performance.now() - began;
      step += 1;
      await new Promise((done) => setTimeout(done, TRAINING_MS));
      return ms;
    },
    skipped: () => hooks.status.skippedProbes + parameters.status.skippedProbes,
    probed: () => hooks.status.probedSteps,
    /** Processor time of the training thread that a probe takes: of all steps, by the probes that were not left out. */
    async measure() {
      const probes = () => (hooks.status.probedSteps + parameters.status.probedSteps) / 2;
      let beganMs = 0;
      let probesBefore = 0;
      for (let i = 0; i < STEPS; i += 1, step += 1) {
        if (i === WARM_STEPS) {
          probesBefore = probes();
          beganMs = threadMs();
        }
        probe();
        Atomics.wait(asleep, 0, 0, TRAINING_MS);
        if (turns) await turn();
      }
      return (threadMs() - beganMs) / Math.max(1, probes() - probesBefore);
    },
    async close() {
      await session.endRun();
      await kernels?.close();
    },
  };
}
