// Small changes to a program, from which faults and odd but healthy variants are made.
import { uniform } from './random.mjs';

export const isHidden = (layer, i, layers) =>
  layer.activation !== undefined && i < layers.length - 1;
export const editLayers = (program, edit) => ({ ...program, layers: program.layers.map(edit) });
export const lastLayer = (program, more) =>
  editLayers(program, (layer, i, layers) =>
    i === layers.length - 1 ? { ...layer, ...more } : layer,
  );
export const rated = (program, factor) => ({
  ...program,
  optimizer: { ...program.optimizer, rate: program.optimizer.rate * factor },
});
export const isClassification = ({ loss }) => loss !== 'mse';
export const hasClasses = ({ loss }) => loss === 'crossentropy';
export const isDense = ({ layers }) =>
  layers.every(({ kind }) => ['dense', 'flatten'].includes(kind));
export const hasRelu = ({ layers }) => layers.some(({ activation }) => activation === 'relu');
/** The first layer that has weights and a ReLU of its own. */
export const firstWithRelu = ({ layers }) =>
  layers.find(({ activation, kind }) => activation === 'relu' && kind !== 'activation').name;
export const firstTrained = ({ layers }) =>
  layers.find(({ kind }) => /dense|conv|lstm|gru/.test(kind)).name;

/** Changes the samples of the parts named. */
export const samples = (names, change) => (data, seed) => {
  const random = uniform(seed + 77);
  const length = data.shape.reduce((a, b) => a * b, 1);
  for (const name of names) {
    const part = data[name];
    for (let i = 0; i < part.count; i += 1)
      change({ x: part.x.subarray(i * length, (i + 1) * length), part, i, random, data });
  }
};

export const scaledInput = (factor, shift = 0) =>
  samples(['train', 'val'], ({ x }) => {
    for (let i = 0; i < x.length; i += 1) x[i] = (x[i] + shift) * factor;
  });

/** Turns samples of other classes into samples of the first one, until `share` of the others are left. */
export const mostlyFirstClass = (names, share) => (data, seed) => {
  const first = new Map(
    names.map((name) => [name, [...data[name].y.keys()].filter((i) => data[name].y[i] === 0)]),
  );
  samples(names, ({ x, part, i, random }) => {
    if (part.y[i] === 0 || random() < share) return;
    const like = first.get(names.find((name) => data[name] === part));
    const from = like[Math.floor(random() * like.length)];
    x.set(part.x.subarray(from * x.length, (from + 1) * x.length));
    part.y[i] = 0;
  })(data, seed);
};
