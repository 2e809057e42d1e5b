/** The layers and weights of a model, named by their paths. */
import { invalidInput } from '../../base/errors.ts';
import type { LayerInfo, ParameterInfo } from '../../instruments/probes/model-source.ts';
import type { ParameterRole } from '../../records/literals.ts';
import type { TfLayer, TfLayerVariable, TfTensor, TfVariable } from './tfjs-types.ts';

/** A layer and the object it stands for; a tap has none. */
export type FoundLayer = {
  readonly info: LayerInfo;
  readonly layer: TfLayer | undefined;
  /** Of an input, which is never called itself: the layer that gets it, and at which position. */
  readonly fedTo?: { readonly layer: TfLayer; readonly position: number };
};

/** A parameter and how to get at its variable. */
export type FoundParameter = {
  readonly info: ParameterInfo;
  /** @throws when it has been disposed */
  readonly read: () => TfTensor;
  /** Name of the `tf.Variable`, by which gradients are labelled. */
  readonly variableName: string;
};

/** The inputs and all layers of a model, containers before what they hold; layers that are used twice once. */
export function findLayers(model: object): readonly FoundLayer[] {
  const names = new Set<string>();
  const found: FoundLayer[] = findInputs(model, names);
  const seen = new Set<object>();
  const visit = (item: unknown, prefix: string, isInWrapper: boolean): void => {
    if (!isLayer(item) || seen.has(item) || item.getClassName() === 'InputLayer') return;
    seen.add(item);
    const name = unique(prefix + item.name, names);
    const type = item.getClassName();
    const children = layersOf(item);
    const activation = activationOf(item);
    const info: LayerInfo = {
      name,
      type,
      qualifiedType: `tfjs.layers.${type}`,
      ...(activation === undefined ? {} : { activation }),
      // A wrapper is one layer to who made the model; what it wraps is called once a direction or time step.
      isLeaf: children === undefined && !isInWrapper,
      unitAxis: 'dataFormat' in item && item.dataFormat === 'channelsFirst' ? 1 : -1,
    };
    found.push({ info, layer: item });
    for (const child of children ?? wrappedBy(item))
      visit(child, `${name}/`, isInWrapper || children === undefined);
  };
  for (const layer of layersOf(model) ?? []) visit(layer, '', false);
  return found;
}

/**
 * The inputs of a model, each beside the first of its layers that gets it. Left out are inputs whose numbers are names (of tokens,
 * of classes: they go to an embedding, or are no floating-point numbers), and those of layers that are used more than once, whose
 * calls cannot be distinguished.
 */
function findInputs(model: object, names: Set<string>): FoundLayer[] {
  const own = new Set(layersOf(model));
  return listOf(model, 'inputLayers').flatMap((input): FoundLayer[] => {
    if (!isLayer(input) || ('dtype' in input && input.dtype !== 'float32')) return [];
    const next = listOf(input, 'outboundNodes')
      .map((node) => fieldOf(node, 'outboundLayer'))
      .filter((layer) => isLayer(layer))
      .filter((layer) => own.has(layer));
    const [layer] = next;
    if (layer === undefined || next.some((one) => one.getClassName() === 'Embedding')) return [];
    const [node, another] = listOf(layer, 'inboundNodes');
    const position = listOf(node, 'inboundLayers').indexOf(input);
    if (another !== undefined || position < 0) return [];
    const info = {
      name: unique(input.name, names),
      type: 'InputLayer',
      qualifiedType: 'tfjs.layers.InputLayer',
      isLeaf: true,
    };
    return [{ info, layer: input, fedTo: { layer, position } }];
  });
}

/** The layers that get what the model is given, each once. */
export function inputReceivers(model: object): readonly TfLayer[] {
  const own = new Set(layersOf(model));
  const receivers = listOf(model, 'inputLayers')
    .flatMap((input) => listOf(input, 'outboundNodes'))
    .map((node) => fieldOf(node, 'outboundLayer'))
    .filter((layer) => isLayer(layer))
    .filter((layer) => own.has(layer));
  return [...new Set(receivers)];
}

function listOf(item: unknown, name: string): readonly unknown[] {
  const list = fieldOf(item, name);
  return Array.isArray(list) ? list : [];
}

function fieldOf(item: unknown, name: string): unknown {
  return typeof item === 'object' && item !== null ? Reflect.get(item, name) : undefined;
}

/** The weights of the layers, each once. `group` is the optimizer's now, for those that train. */
export function findParameters(
  layers: readonly FoundLayer[],
  group: () => string | null,
): readonly FoundParameter[] {
  const found = new Map<object, FoundParameter>();
  const names = new Set<string>();
  // From the inside out, so that a weight belongs to the layer that has it, not to what that one is wrapped in.
  const parameters = layers.toReversed().flatMap(({ info, layer }) =>
    (layer?.weights ?? []).flatMap((weight): FoundParameter[] => {
      const variable = variableOf(weight);
      if (variable === undefined || found.has(variable)) return [];
      const short = weight.originalName.split('/').at(-1) ?? weight.originalName;
      const parameter: FoundParameter = {
        info: {
          name: unique(`${info.name}/${short}`, names),
          moduleName: info.name,
          role: roleOf(short, weight.shape.length),
          shape: weight.shape.map((size) => size ?? 0),
          dtype: weight.dtype,
          // A model may be compiled and layers may be frozen later on.
          get optimizerGroup() {
            return weight.trainable && layer?.trainable === true ? group() : null;
          },
        },
        read: () => weight.read(),
        variableName: variable.name,
      };
      found.set(variable, parameter);
      return [parameter];
    }),
  );
  const order = new Map(layers.map(({ info }, i) => [info.name, i]));
  const place = ({ info }: FoundParameter): number => order.get(info.moduleName) ?? 0;
  return parameters.toSorted((a, b) => place(a) - place(b));
}

/** Variables of a model without layers, under the names they are given. @throws {QuarkError} `invalid_input` */
export function namedParameters(
  variables: Readonly<Record<string, unknown>>,
  group: () => string | null,
): readonly FoundParameter[] {
  return Object.entries(variables).map(([name, variable]) => {
    if (!isVariable(variable))
      throw invalidInput(`variables.${name}`, variable, 'a tf.Variable, made by tf.variable()');
    return {
      info: {
        name,
        moduleName: name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : '',
        role: roleOf(name.split('/').at(-1) ?? name, variable.shape.length),
        shape: [...variable.shape],
        dtype: variable.dtype,
        get optimizerGroup() {
          return variable.trainable ? group() : null;
        },
      },
      read: () => {
        if (variable.isDisposed) throw new Error(`Variable ${name} has been disposed.`);
        return variable;
      },
      variableName: variable.name,
    };
  });
}

/** What a weight is by the name it has in TensorFlow.js, else by its rank. */
function roleOf(name: string, rank: number): ParameterRole {
  const plain = name.toLowerCase().replace(/_\d+$/, '');
  if (/bias|beta/.test(plain)) return 'bias';
  if (/kernel|weight|gamma|embedding|alpha/.test(plain)) return 'weight';
  if (/moving/.test(plain)) return 'other';
  return rank >= 2 ? 'weight' : 'other';
}

function isLayer(item: unknown): item is TfLayer {
  return (
    typeof item === 'object' &&
    item !== null &&
    'getClassName' in item &&
    typeof item.getClassName === 'function' &&
    'call' in item &&
    typeof item.call === 'function'
  );
}

/** Layers of a container. */
function layersOf(item: object): readonly unknown[] | undefined {
  return 'layers' in item && Array.isArray(item.layers) ? item.layers : undefined;
}

/** Layers inside a wrapper such as Bidirectional or TimeDistributed. */
function wrappedBy(item: object): readonly unknown[] {
  if ('forwardLayer' in item && 'backwardLayer' in item)
    return [item.forwardLayer, item.backwardLayer];
  return 'layer' in item ? [item.layer] : [];
}

/** Name of the activation that is part of a layer; undefined for none and for `linear`. */
function activationOf(item: object): string | undefined {
  if (!('activation' in item)) return undefined;
  const { activation } = item;
  if (typeof activation !== 'object' || activation === null) return undefined;
  if (!('getClassName' in activation) || typeof activation.getClassName !== 'function')
    return undefined;
  const name: unknown = activation.getClassName();
  return typeof name === 'string' && name !== 'linear' ? name : undefined;
}

/** `read` returns the variable itself. */
function variableOf(weight: TfLayerVariable): TfVariable | undefined {
  const variable = weight.read();
  return isVariable(variable) ? variable : undefined;
}

function isVariable(value: unknown): value is TfVariable {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    typeof value.name === 'string' &&
    'dataId' in value &&
    'assign' in value
  );
}

function unique(name: string, taken: Set<string>): string {
  let free = name;
  for (let i = 1; taken.has(free); i++) free = `${name}_${i}`;
  taken.add(free);
  return free;
}
