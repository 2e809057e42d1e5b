/** A model source over plain arrays that tests drive by hand. */
import type {
  CapturePoint,
  DeviceBatch,
  DeviceResult,
  LayerInfo,
  LayerWatch,
  ModelSource,
  ParameterInfo,
  ParameterWatch,
  RetainedTensor,
  SourceTrouble,
  TensorRef,
} from '../../src/instruments/probes/model-source.ts';
import type { TensorData } from '../../src/kernel/kernel.ts';

export function layer(name: string, more: Partial<LayerInfo> = {}): LayerInfo {
  return { name, type: 'Dense', isLeaf: true, ...more };
}

export function parameter(name: string, more: Partial<ParameterInfo> = {}): ParameterInfo {
  return {
    name,
    moduleName: name.split('/')[0] ?? '',
    role: 'weight',
    shape: [2],
    dtype: 'float32',
    optimizerGroup: 'sgd',
    ...more,
  };
}

export class ArraySource implements ModelSource {
  readonly framework = 'arrays';
  readonly layers: readonly LayerInfo[];
  readonly parameters: readonly ParameterInfo[];
  readonly values: TensorData[];
  readonly layerWatches = new Set<LayerWatch>();
  readonly parameterWatches = new Set<ParameterWatch>();
  troubles: SourceTrouble[] = [];
  /** References that are held. */
  retained = 0;
  /** Gives what a device found, when there is one. */
  readBack: (() => Promise<readonly DeviceResult[]>) | undefined;

  constructor(
    layers: readonly LayerInfo[],
    parameters: readonly ParameterInfo[] = [],
    values: TensorData[] = [],
  ) {
    this.layers = layers;
    this.parameters = parameters;
    this.values = values;
  }

  watchLayers(watch: LayerWatch): () => void {
    this.layerWatches.add(watch);
    return () => this.layerWatches.delete(watch);
  }

  watchParameters(watch: ParameterWatch): () => void {
    this.parameterWatches.add(watch);
    return () => this.parameterWatches.delete(watch);
  }

  readParameter(at: number): TensorRef {
    const data = this.values[at];
    if (data === undefined) throw new RangeError('gone');
    return this.ref(data, this.parameters[at]?.shape ?? [data.length]);
  }

  openBatch(): DeviceBatch {
    return {
      summarize: () => undefined,
      summarizeChange: () => undefined,
      compare: () => undefined,
      read: () => this.readBack?.() ?? Promise.resolve([]),
      discard: () => undefined,
    };
  }

  inspect(): readonly SourceTrouble[] {
    return this.troubles.splice(0);
  }

  /** A layer gave or received something. */
  show(
    at: number,
    direction: CapturePoint['direction'],
    tensor: TensorRef,
    isTraining = true,
  ): void {
    for (const watch of this.layerWatches) {
      if (!watch.isActive || !watch.layers.has(at) || !watch[direction]) continue;
      const callIndex = direction === 'forward' ? watch.beginCall(at) : 0;
      watch.capture({ layer: at, direction, callIndex, outputIndex: 0, isTraining }, tensor);
    }
  }

  /** An optimizer changed a parameter. */
  change(at: number, gradient: TensorData, after: TensorData): boolean {
    const before = this.values[at];
    this.values[at] = after;
    let isWanted = false;
    for (const watch of this.parameterWatches) {
      if (!watch.isActive || !watch.parameters.has(at) || before === undefined) continue;
      isWanted = true;
      watch.changed(at, { gradient: this.ref(gradient), before: this.ref(before) });
    }
    return isWanted;
  }

  /** A tensor that lasts as long as it is retained: its data is wiped when the last reference goes. */
  ref(data: TensorData, shape: readonly number[] = [data.length]): TensorRef {
    const hold = (): RetainedTensor => {
      this.retained += 1;
      let isReleased = false;
      return {
        shape,
        dtype: 'float32',
        get data() {
          if (isReleased) throw new Error('read after release');
          return data;
        },
        release: () => {
          if (isReleased) throw new Error('released twice');
          isReleased = true;
          this.retained -= 1;
        },
        retain: hold,
      };
    };
    return { shape, dtype: 'float32', data, retain: hold };
  }

  /** A tensor on a device. */
  onDevice(shape: readonly number[]): TensorRef {
    return { shape, dtype: 'float32', data: undefined };
  }
}
