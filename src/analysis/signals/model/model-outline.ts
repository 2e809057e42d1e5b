/**
 * The layers of a model from its configuration: what tfjs and Keras write, or a plain list, or what a training recorded of it when it
 * began (`adapters/tfjs/model-facts.ts`). Nothing in it is trusted.
 */
import type { EventColumns, RunColumns } from '../../columns/run-columns.ts';
import { field } from './fields.ts';

/** A layer as the lint sees it. */
export type ModelLayer = {
  readonly name: string;
  /** Class of the layer: `Dense`, `Conv2D`, ... */
  readonly type: string;
  /** Name of its activation in lowercase; `linear` where it has none. */
  readonly activation: string;
  readonly units: number | undefined;
  readonly rate: number | undefined;
  /** Class of the initialiser of its weights, in lowercase letters. */
  readonly kernelInitializer: string | undefined;
  /** Value of a constant initialiser. */
  readonly initialValue: number | undefined;
  readonly usesBias: boolean;
  /** False where the configuration says that the layer is frozen. */
  readonly isTrained: boolean;
  /** Positions of the layers it takes its input from. */
  readonly inputs: readonly number[];
};

/** A model as the lint sees it. */
export type ModelOutline = {
  readonly layers: readonly ModelLayer[];
  /** The loss in lowercase letters, without separators. */
  readonly loss: string | undefined;
  readonly optimizer: string | undefined;
  readonly learningRate: number | undefined;
  readonly metrics: readonly string[];
};

/** More layers than this are not read. */
const MAX_LAYERS = 2000;

/** The model that was given, or that the configuration of the run describes, or that was recorded; undefined where none is known. */
export function modelOutline(
  { events, run: { config } }: RunColumns,
  model: unknown,
): ModelOutline | undefined {
  return outlineOf(model ?? config['model'] ?? config, config) ?? recordedOutline(events);
}

/** The model of the last start of a training; undefined where none was recorded. */
export function recordedOutline({ eventTypes, payloads }: EventColumns): ModelOutline | undefined {
  const at = eventTypes.lastIndexOf('training_started');
  const text = at < 0 ? '' : (payloads[at] ?? '');
  if (!text.includes('"topology"')) return undefined;
  const payload: unknown = JSON.parse(text);
  return outlineOf(field(payload, 'topology'), payload);
}

/** What can be read of a model; undefined when there are no layers in it. */
export function outlineOf(model: unknown, runConfig: unknown): ModelOutline | undefined {
  const root = field(model, 'modelTopology') ?? model;
  const config = field(root, 'model_config') ?? field(root, 'config') ?? root;
  const inner = field(config, 'config') ?? config;
  const list = Array.isArray(model) ? model : Array.isArray(inner) ? inner : field(inner, 'layers');
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const raw = list.slice(0, MAX_LAYERS);
  const names = raw.map((layer, i) => nameOf(layer, i));
  const isGraph = raw.some((layer) => field(layer, 'inbound_nodes', 'inboundNodes') !== undefined);
  const layers = raw.map((layer, i) => layerOf(layer, names, i, isGraph));
  // A list of widths, or of something else.
  if (layers.some(({ type }) => type === '')) return undefined;
  const training = field(root, 'training_config', 'trainingConfig') ?? model;
  const optimizer = field(training, 'optimizer_config', 'optimizerConfig', 'optimizer');
  return {
    layers,
    loss: word(field(training, 'loss') ?? field(runConfig, 'loss')),
    optimizer: word(
      field(optimizer, 'class_name', 'className') ?? optimizer ?? field(runConfig, 'optimizer'),
    ),
    learningRate: numeric(
      field(field(optimizer, 'config'), 'learning_rate', 'learningRate', 'lr') ??
        field(runConfig, 'learningRate', 'learning_rate', 'lr'),
    ),
    metrics: texts(field(training, 'metrics') ?? field(runConfig, 'metrics')),
  };
}

function layerOf(
  layer: unknown,
  names: readonly string[],
  position: number,
  isGraph: boolean,
): ModelLayer {
  const inner = innermost(layer, 0);
  const config = field(inner, 'config') ?? inner;
  const type = field(inner, 'class_name', 'className', 'type');
  const initializer = field(
    config,
    'kernel_initializer',
    'kernelInitializer',
    'embeddingsInitializer',
    'embeddings_initializer',
  );
  return {
    name: names[position] ?? '',
    type: typeof type === 'string' ? type : '',
    activation:
      word(
        field(field(config, 'activation'), 'class_name', 'className') ??
          field(config, 'activation'),
      ) ?? 'linear',
    units: numeric(field(config, 'units', 'filters')),
    rate: numeric(field(config, 'rate')),
    kernelInitializer: word(field(initializer, 'class_name', 'className') ?? initializer),
    initialValue: numeric(field(field(initializer, 'config'), 'value')),
    usesBias: field(config, 'use_bias', 'useBias') !== false,
    isTrained:
      field(config, 'trainable') !== false && field(field(layer, 'config'), 'trainable') !== false,
    inputs: isGraph ? inboundOf(layer, names) : position > 0 ? [position - 1] : [],
  };
}

/** Containers in containers that are opened, at most. */
const MAX_DEPTH = 4;

/**
 * What a layer computes last: of one that applies another at every time step that one, of a model inside the model its last layer. Where a
 * nested model has several outputs, this is one of them.
 */
function innermost(layer: unknown, depth: number): unknown {
  const type = field(layer, 'class_name', 'className', 'type');
  const config = field(layer, 'config') ?? layer;
  if (typeof type !== 'string' || depth >= MAX_DEPTH) return layer;
  if (/^time_?distributed$/i.test(type)) {
    const wrapped = field(config, 'layer');
    return wrapped === undefined ? layer : innermost(wrapped, depth + 1);
  }
  if (!/^(?:sequential|model|functional)$/i.test(type)) return layer;
  const layers = Array.isArray(config) ? config : field(config, 'layers');
  const last: unknown = Array.isArray(layers) ? layers.at(-1) : undefined;
  return last === undefined ? layer : innermost(last, depth + 1);
}

function nameOf(layer: unknown, position: number): string {
  const name = field(layer, 'name') ?? field(field(layer, 'config'), 'name');
  return typeof name === 'string' && name !== '' ? name : `layer ${position}`;
}

function inboundOf(layer: unknown, names: readonly string[]): number[] {
  const found = new Set<number>();
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === 'string') {
      const at = names.indexOf(value);
      if (at >= 0) found.add(at);
    } else if (Array.isArray(value) && depth < 6) {
      for (const item of value.slice(0, 64)) walk(item, depth + 1);
    }
  };
  walk(field(layer, 'inbound_nodes', 'inboundNodes'), 0);
  return [...found];
}

/** Text in lowercase without what separates its words: `categorical_crossentropy` and `categoricalCrossentropy` are one. */
function word(value: unknown): string | undefined {
  if (typeof value === 'string') return value.toLowerCase().replace(/[^a-z0-9]/g, '');
  if (Array.isArray(value) && value.length === 1) return word(value[0]);
  return undefined;
}

function numeric(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function texts(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).flatMap((item) => {
    const text = word(item);
    return text === undefined ? [] : [text];
  });
}
