/** What is recorded of a model when its training starts: enough for an analysis to find faults of the configuration. */
import type { JsonObject } from '../../base/json.ts';
import { learningRate } from './fit-logs.ts';
import type { TfjsLayersModel } from './tfjs-types.ts';

/** Characters of a configuration that is recorded: that of a network of some hundred layers. A larger one is left out. */
const MAX_TOPOLOGY_CHARS = 256 * 1024;

/**
 * The configuration of the layers as TensorFlow.js writes it, the compiled loss and metrics, optimizer and learning rate.
 * What a model cannot say (layers of one's own without a configuration, a loss that is a function without a name) is left
 * out. Nothing here throws.
 */
export function modelFacts(model: TfjsLayersModel): JsonObject {
  const { optimizer } = model;
  const rate = learningRate(optimizer);
  return {
    ...optional('topology', topologyOf(model)),
    ...optional('loss', 'loss' in model ? nameOf(model.loss) : undefined),
    ...optional('metrics', 'metrics' in model ? namesOf(model.metrics) : undefined),
    ...optional('optimizer', classOf(optimizer)),
    ...optional('learning_rate', rate),
  };
}

function optional(name: string, value: JsonObject[string] | undefined): JsonObject {
  return value === undefined || value === null ? {} : { [name]: value };
}

function topologyOf(model: object): JsonObject[string] | undefined {
  if (!('toJSON' in model) || typeof model.toJSON !== 'function') return undefined;
  try {
    const text: unknown = model.toJSON(null, true);
    if (typeof text !== 'string' || text.length > MAX_TOPOLOGY_CHARS) return undefined;
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What TensorFlow.js puts behind the names of its operations: `tf.losses.huberLoss` is a function called `huberLoss__op`. */
const OPERATION = /_{1,2}op$/;

/** Name of a loss or a metric: text, or a function with a name; undefined for several. */
function nameOf(given: unknown): string | undefined {
  if (typeof given === 'string') return given;
  if (typeof given !== 'function' || given.name === '') return undefined;
  return given.name.replace(OPERATION, '');
}

/** Names of the metrics of a model with one output; those without a name are left out. */
function namesOf(metrics: unknown): string[] | undefined {
  if (!Array.isArray(metrics)) return undefined;
  const names = metrics.flatMap((metric) => nameOf(metric) ?? []);
  return names.length === 0 ? undefined : names;
}

function classOf(optimizer: unknown): string | undefined {
  if (typeof optimizer !== 'object' || optimizer === null) return undefined;
  if (!('getClassName' in optimizer) || typeof optimizer.getClassName !== 'function')
    return undefined;
  const name: unknown = optimizer.getClassName();
  return typeof name === 'string' ? name : undefined;
}
