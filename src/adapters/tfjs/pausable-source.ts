/** A source that can be taken off its model and put back, without those who watch it noticing. */
import type {
  LayerWatch,
  ModelSource,
  ParameterWatch,
  TensorRef,
} from '../../instruments/probes/model-source.ts';

type Watching = { readonly start: () => () => void; stop: (() => void) | undefined };

export class PausableSource implements ModelSource {
  readonly framework: string;
  readonly layers: ModelSource['layers'];
  readonly parameters: ModelSource['parameters'];
  readonly openBatch?: NonNullable<ModelSource['openBatch']>;
  readonly inspect?: NonNullable<ModelSource['inspect']>;
  readonly #source: ModelSource;
  readonly #watching = new Set<Watching>();
  #isPaused = false;

  constructor(source: ModelSource) {
    this.#source = source;
    this.framework = source.framework;
    this.layers = source.layers;
    this.parameters = source.parameters;
    if (source.openBatch !== undefined) this.openBatch = source.openBatch.bind(source);
    if (source.inspect !== undefined) this.inspect = source.inspect.bind(source);
  }

  watchLayers(watch: LayerWatch): () => void {
    return this.#watch(() => this.#source.watchLayers(watch));
  }

  watchParameters(watch: ParameterWatch): () => void {
    return this.#watch(() => this.#source.watchParameters(watch));
  }

  readParameter(parameter: number): TensorRef {
    return this.#source.readParameter(parameter);
  }

  /** Takes everything off the model. */
  pause(): void {
    this.#isPaused = true;
    for (const watching of this.#watching) {
      watching.stop?.();
      watching.stop = undefined;
    }
  }

  /** Puts it back. */
  resume(): void {
    this.#isPaused = false;
    for (const watching of this.#watching) watching.stop ??= watching.start();
  }

  #watch(start: () => () => void): () => void {
    const watching: Watching = { start, stop: this.#isPaused ? undefined : start() };
    this.#watching.add(watching);
    return () => {
      this.#watching.delete(watching);
      watching.stop?.();
      watching.stop = undefined;
    };
  }
}
