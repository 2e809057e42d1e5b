/** What a trainer shows to the hook engine and the parameter diagnostics. */
import type {
  DeviceBatch,
  LayerInfo,
  LayerWatch,
  ModelSource,
  ParameterInfo,
  ParameterWatch,
  TensorRef,
} from '../../../instruments/probes/model-source.ts';
import type { OrtTensor, OrtValues } from '../ort.ts';
import type { OnnxTraining } from './training-step.ts';

/** A tensor of a step, ready for probes. */
type Refer = (tensor: OrtTensor) => TensorRef;

/** The {@link ModelSource} of a training. The trainer asks it what to fetch, and shows it what came. */
export class TrainerSource implements ModelSource {
  readonly framework = 'onnxruntime-web';
  readonly layers: readonly LayerInfo[];
  readonly parameters: readonly ParameterInfo[];
  readonly #training: OnnxTraining;
  readonly #refer: Refer;
  readonly #valueOf: (parameter: string) => OrtTensor;
  readonly #layerWatches = new Set<LayerWatch>();
  readonly #parameterWatches = new Set<ParameterWatch>();
  readonly openBatch?: () => DeviceBatch;

  constructor(
    training: OnnxTraining,
    refer: Refer,
    valueOf: (parameter: string) => OrtTensor,
    openBatch: (() => DeviceBatch) | undefined,
  ) {
    this.#training = training;
    this.#refer = refer;
    this.#valueOf = valueOf;
    if (openBatch !== undefined) this.openBatch = openBatch;
    this.layers = training.layers.map(({ name, type, unitAxis }) => ({
      name,
      type,
      unitAxis,
      isLeaf: true,
    }));
    this.parameters = training.parameters.map(({ name, layerName, role, shape, updated }) => ({
      name,
      moduleName: layerName,
      role,
      shape,
      dtype: 'float32',
      optimizerGroup: updated === null ? null : 'default',
    }));
  }

  watchLayers(watch: LayerWatch): () => void {
    this.#layerWatches.add(watch);
    return () => void this.#layerWatches.delete(watch);
  }

  watchParameters(watch: ParameterWatch): () => void {
    this.#parameterWatches.add(watch);
    return () => void this.#parameterWatches.delete(watch);
  }

  readParameter(parameter: number): TensorRef {
    return this.#refer(this.#valueOf(this.#training.parameters[parameter]?.name ?? ''));
  }

  /** Outputs that a step has to fetch for those that watch it now. */
  wanted(): ReadonlySet<string> {
    const names = new Set<string>();
    const want = (name: string | null | undefined): void => {
      if (name !== null && name !== undefined) names.add(name);
    };
    for (const { isActive, layers, forward, backward } of this.#layerWatches) {
      if (!isActive) continue;
      for (const layer of layers) {
        if (forward) want(this.#training.layers[layer]?.activation);
        if (backward) want(this.#training.layers[layer]?.gradient);
      }
    }
    for (const { isActive, parameters } of this.#parameterWatches)
      if (isActive)
        for (const index of parameters) want(this.#training.parameters[index]?.gradient);
    return names;
  }

  /** Hands the outputs of a step over, and the values that parameters had before it. */
  show(outputs: OrtValues, before: ReadonlyMap<string, OrtTensor>): void {
    for (const watch of this.#layerWatches) if (watch.isActive) this.#showLayers(watch, outputs);
    for (const watch of this.#parameterWatches)
      if (watch.isActive) this.#showParameters(watch, outputs, before);
  }

  #showLayers(watch: LayerWatch, outputs: OrtValues): void {
    for (const index of watch.layers) {
      const layer = this.#training.layers[index];
      if (layer === undefined) continue;
      const callIndex = watch.beginCall(index);
      const capture = (name: string | null, direction: 'forward' | 'backward'): void => {
        const tensor = name === null ? undefined : outputs[name];
        if (tensor === undefined) return;
        const point = { layer: index, direction, callIndex, outputIndex: 0, isTraining: true };
        watch.capture(point, this.#refer(tensor));
      };
      if (watch.forward) capture(layer.activation, 'forward');
      if (watch.backward) capture(layer.gradient, 'backward');
    }
  }

  #showParameters(
    watch: ParameterWatch,
    outputs: OrtValues,
    before: ReadonlyMap<string, OrtTensor>,
  ): void {
    for (const index of watch.parameters) {
      const parameter = this.#training.parameters[index];
      if (parameter?.gradient === null || parameter === undefined) continue;
      const gradient = outputs[parameter.gradient];
      const value = before.get(parameter.name);
      watch.changed(index, {
        gradient: gradient === undefined ? null : this.#refer(gradient),
        before: value === undefined ? null : this.#refer(value),
      });
    }
  }
}
