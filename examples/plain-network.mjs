// Observes a network written in plain JavaScript: any model can be observed through the ModelSource interface.
// Run: node examples/plain-network.mjs
import { MetricsLogger, TrainingSession } from 'quark-sdk';
import { HookEngine, ParameterDiagnostics } from 'quark-sdk/probes';

const storageDir = process.env.QUARK_STORAGE_DIR ?? 'quark-runs';
const [inputs, hidden, batch, steps, rate] = [2, 8, 16, 300, 0.2];

/** 2 inputs, 8 hidden units with tanh, 1 output: learns whether two numbers have the same sign. */
class Network {
  weights = {
    'hidden/kernel': Float64Array.from({ length: inputs * hidden }, () => Math.random() * 2 - 1),
    'hidden/bias': new Float64Array(hidden),
    'output/kernel': Float64Array.from({ length: hidden }, () => Math.random() * 2 - 1),
    'output/bias': new Float64Array(1),
  };

  // What a ModelSource has to tell: the layers, the parameters ...
  framework = 'plain';
  layers = [
    { name: 'hidden', type: 'Dense', activation: 'tanh', isLeaf: true },
    { name: 'output', type: 'Dense', isLeaf: true },
  ];
  shapes = [[inputs, hidden], [hidden], [hidden, 1], [1]];
  parameters = Object.keys(this.weights).map((name, i) => ({
    name,
    moduleName: name.split('/')[0],
    role: name.endsWith('bias') ? 'bias' : 'weight',
    shape: this.shapes[i],
    dtype: 'float64',
    optimizerGroup: 'sgd',
  }));

  // ... who wants to know what, and the value of a parameter.
  layerWatches = new Set();
  parameterWatches = new Set();
  watchLayers(watch) {
    this.layerWatches.add(watch);
    return () => this.layerWatches.delete(watch);
  }
  watchParameters(watch) {
    this.parameterWatches.add(watch);
    return () => this.parameterWatches.delete(watch);
  }
  readParameter(i) {
    const { name, shape, dtype } = this.parameters[i];
    return { data: this.weights[name], shape, dtype };
  }

  /** Shows the output of a layer, or the gradient with respect to it, to those who want it. */
  show(layer, direction, data, width) {
    for (const watch of this.layerWatches) {
      if (!watch.isActive || !watch.layers.has(layer) || !watch[direction]) continue;
      // The gradient of a call belongs to its output; every layer is called once here.
      const callIndex = direction === 'forward' ? watch.beginCall(layer) : 0;
      watch.capture(
        { layer, direction, callIndex, outputIndex: 0, isTraining: true },
        { data, shape: [batch, width], dtype: 'float64' },
      );
    }
  }

  /** One step of gradient descent; returns the loss. */
  train(xs, ys) {
    const w = this.weights;
    const activations = new Float64Array(batch * hidden);
    const outputs = new Float64Array(batch);
    for (let row = 0; row < batch; row += 1) {
      outputs[row] = w['output/bias'][0];
      for (let unit = 0; unit < hidden; unit += 1) {
        let sum = w['hidden/bias'][unit];
        for (let i = 0; i < inputs; i += 1)
          sum += xs[row * inputs + i] * w['hidden/kernel'][i * hidden + unit];
        activations[row * hidden + unit] = Math.tanh(sum);
        outputs[row] += Math.tanh(sum) * w['output/kernel'][unit];
      }
    }
    this.show(0, 'forward', activations, hidden);
    this.show(1, 'forward', outputs, 1);

    const outputGradient = outputs.map((output, row) => (2 * (output - ys[row])) / batch);
    const activationGradient = activations.map(
      (_, i) => outputGradient[Math.floor(i / hidden)] * w['output/kernel'][i % hidden],
    );
    this.show(1, 'backward', outputGradient, 1);
    this.show(0, 'backward', activationGradient, hidden);

    const gradients = Object.values(w).map((values) => new Float64Array(values.length));
    for (let row = 0; row < batch; row += 1) {
      gradients[3][0] += outputGradient[row];
      for (let unit = 0; unit < hidden; unit += 1) {
        const at = row * hidden + unit;
        const before = activationGradient[at] * (1 - activations[at] ** 2);
        gradients[2][unit] += outputGradient[row] * activations[at];
        gradients[1][unit] += before;
        for (let i = 0; i < inputs; i += 1)
          gradients[0][i * hidden + unit] += xs[row * inputs + i] * before;
      }
    }
    this.descend(gradients);
    return outputs.reduce((sum, output, row) => sum + (output - ys[row]) ** 2 / batch, 0);
  }

  descend(gradients) {
    const watches = [...this.parameterWatches].filter(({ isActive }) => isActive);
    for (const [i, { name, shape, dtype }] of this.parameters.entries()) {
      const values = this.weights[name];
      // The values are changed in place, so those before are copied where they are wanted.
      const before = watches.length > 0 ? values.slice() : null;
      for (const [at, gradient] of gradients[i].entries()) values[at] -= rate * gradient;
      for (const watch of watches) {
        if (!watch.parameters.has(i)) continue;
        watch.changed(i, {
          gradient: { data: gradients[i], shape, dtype },
          before: { data: before, shape, dtype },
        });
      }
    }
  }
}

await TrainingSession.run({ project: 'plain-network', storageDir }, async (session) => {
  const network = new Network();
  const metrics = new MetricsLogger(session);
  const hooks = new HookEngine(session, network, { schedule: { everyNSteps: 10 } });
  const parameters = new ParameterDiagnostics(session, network, { schedule: { everyNSteps: 10 } });

  for (let step = 0; step < steps; step += 1) {
    const xs = Float64Array.from({ length: batch * inputs }, () => Math.random() * 2 - 1);
    const ys = Float64Array.from({ length: batch }, (_, row) =>
      Math.sign(xs[row * inputs] * xs[row * inputs + 1]),
    );
    const loss = hooks.step(step, {}, () => network.train(xs, ys));
    parameters.snapshot(step);
    metrics.log('train/loss', loss, { step });
  }

  const [last] = await parameters.readSummaries({
    parameterName: 'hidden/kernel',
    latestOnly: true,
  });
  const gradients = await hooks.read({ moduleName: 'hidden', summaryType: 'gradient' });
  console.log(`Run ${session.runId}: ${gradients.length} gradients of the hidden layer recorded,`);
  console.log(`the last update changed its kernel by ${(100 * last.updateRatio).toFixed(3)} %.`);
});
