/** Watches of a model source that keep what they are shown. */
import type {
  CapturePoint,
  LayerWatch,
  ModelSource,
  ParameterWatch,
  SourceTrouble,
} from '../../src/instruments/probes/model-source.ts';

/** A tensor that was shown. */
export type SeenTensor = {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly data: readonly number[];
};

const numbers = (data: ArrayLike<number> | undefined): number[] => Array.from(data ?? []);

/** Watches layers; `seen` has what the last probed run showed, by layer and direction: `dense_1 forward`. */
export class KeptLayers implements LayerWatch {
  readonly layers: ReadonlySet<number>;
  readonly forward = true;
  readonly backward = true;
  readonly evaluation = false;
  readonly seen = new Map<string, SeenTensor>();
  readonly points: CapturePoint[] = [];
  readonly troubles: SourceTrouble[] = [];
  readonly stop: () => void;
  isActive = true;
  readonly #source: ModelSource;

  constructor(source: ModelSource, names?: readonly string[]) {
    this.#source = source;
    this.layers = new Set(
      source.layers.flatMap(({ name }, i) =>
        names === undefined || names.includes(name) ? [i] : [],
      ),
    );
    this.stop = source.watchLayers(this);
  }

  beginCall(): number {
    return 0;
  }

  capture(point: CapturePoint, { shape, dtype, data }: Parameters<LayerWatch['capture']>[1]): void {
    this.points.push(point);
    this.seen.set(`${this.#source.layers[point.layer]!.name} ${point.direction}`, {
      shape,
      dtype,
      data: numbers(data),
    });
  }

  warn(trouble: SourceTrouble): void {
    this.troubles.push(trouble);
  }
}

/** Watches all parameters; `seen` has what the last probed step showed, by parameter: `dense_1/weight gradient`. */
export class KeptParameters implements ParameterWatch {
  readonly parameters: ReadonlySet<number>;
  readonly seen = new Map<string, SeenTensor>();
  readonly troubles: SourceTrouble[] = [];
  readonly stop: () => void;
  isActive = true;
  readonly #source: ModelSource;

  constructor(source: ModelSource) {
    this.#source = source;
    this.parameters = new Set(source.parameters.keys());
    this.stop = source.watchParameters(this);
  }

  changed(parameter: number, change: Parameters<ParameterWatch['changed']>[1]): void {
    const { name } = this.#source.parameters[parameter]!;
    for (const kind of ['gradient', 'before'] as const) {
      const tensor = change[kind];
      if (tensor !== null)
        this.seen.set(`${name} ${kind}`, {
          shape: tensor.shape,
          dtype: tensor.dtype,
          data: numbers(tensor.data),
        });
    }
  }

  forget(): void {
    this.seen.clear();
  }

  warn(trouble: SourceTrouble): void {
    this.troubles.push(trouble);
  }
}
