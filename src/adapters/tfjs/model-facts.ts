/** What the start of a training says about its model: enough for an analysis to look for faults of the configuration. */
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

/** Name of a loss: text, or a function with a name; undefined for several. */
function nameOf(loss: unknown): string | undefined {
  if (typeof loss === 'string') return loss;
  return typeof loss === 'function' && loss.name !== '' ? loss.name : undefined;
}

function classOf(optimizer: unknown): string | undefined {
  if (typeof optimizer !== 'object' || optimizer === null) return undefined;
  if (!('getClassName' in optimizer) || typeof optimizer.getClassName !== 'function')
    return undefined;
  const name: unknown = optimizer.getClassName();
  return typeof name === 'string' ? name : undefined;
}
