/** Models as graphs of layers: of TensorFlow.js from its topology, of ONNX from its nodes. Pure; topologies are hostile. */
import type { OnnxGraph } from 'quark-sdk/onnx';
import { getOrMake } from '../../parts/maps.ts';

/** A layer or an operation. */
export type ModelNode = {
  /** Unique in the graph. */
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** Of its output, as text; empty where it is not known. */
  readonly shape: string;
  readonly parameterCount: number;
  /** What else is known of it. */
  readonly details: readonly (readonly [name: string, value: string])[];
};

/** From one node to another, by their ids. */
export type ModelEdge = { readonly from: string; readonly to: string };

/** A graph. */
export type ModelGraph = {
  readonly nodes: readonly ModelNode[];
  readonly edges: readonly ModelEdge[];
};

/** More nodes are not read. */
const MAX_NODES = 20_000;
const MAX_TEXT = 200;

type WeightSpec = {
  readonly name: string;
  readonly shape: readonly number[];
  /** Whose it is: an optimizer has a weight for each one of the model. */
  readonly group?: string | undefined;
};

/** The graph of an ONNX file. */
export function onnxModelGraph(graph: OnnxGraph): ModelGraph {
  const makers = new Map<string, string>();
  const nodes: ModelNode[] = [];
  for (const { name, shape } of graph.inputs.slice(0, MAX_NODES)) {
    const id = `input ${name}`;
    makers.set(name, id);
    nodes.push({
      id,
      name,
      type: 'Input',
      shape: shapeText(shape),
      parameterCount: 0,
      details: [],
    });
  }
  const edges: ModelEdge[] = [];
  for (const [at, node] of graph.nodes.slice(0, MAX_NODES).entries()) {
    const id = `node ${at}`;
    nodes.push({
      id,
      name: node.name === '' ? (node.outputs[0] ?? String(at)) : node.name,
      type: node.opType,
      shape: shapeText(node.shape),
      parameterCount: node.parameters.reduce((sum, { shape }) => sum + sizeOf(shape), 0),
      details: node.parameters.map(({ name, shape }) => [name, shapeText(shape)] as const),
    });
    for (const output of node.outputs) makers.set(output, id);
  }
  for (const [at, node] of graph.nodes.slice(0, MAX_NODES).entries())
    for (const input of new Set(node.inputs)) {
      const from = makers.get(input);
      if (from !== undefined && from !== `node ${at}`) edges.push({ from, to: `node ${at}` });
    }
  return { nodes, edges };
}

/** The graph of a model of TensorFlow.js: layers of Keras, or the nodes of a GraphDef. */
export function tfjsModelGraph(topology: object, weights: readonly WeightSpec[]): ModelGraph {
  const graphNodes = fieldOf(topology, 'node');
  if (Array.isArray(graphNodes)) return graphDefGraph(graphNodes);
  const model = fieldOf(topology, 'model_config') ?? topology;
  const config = fieldOf(model, 'config');
  const layers: unknown = Array.isArray(config) ? config : fieldOf(config, 'layers');
  return Array.isArray(layers) ? layersGraph(layers.slice(0, MAX_NODES), weights) : NO_GRAPH;
}

const NO_GRAPH: ModelGraph = { nodes: [], edges: [] };

function graphDefGraph(list: readonly unknown[]): ModelGraph {
  const nodes: ModelNode[] = [];
  const edges: ModelEdge[] = [];
  const known = new Set(list.slice(0, MAX_NODES).map((node) => textOf(fieldOf(node, 'name'))));
  for (const node of list.slice(0, MAX_NODES)) {
    const name = textOf(fieldOf(node, 'name'));
    const type = textOf(fieldOf(node, 'op'));
    nodes.push({ id: name, name, type, shape: '', parameterCount: 0, details: [] });
    const inputs = fieldOf(node, 'input');
    for (const input of Array.isArray(inputs) ? inputs : []) {
      const from = textOf(input).replace(/^\^/, '').replace(/:\d+$/, '');
      if (known.has(from) && from !== name) edges.push({ from, to: name });
    }
  }
  return { nodes: uniqueNodes(nodes), edges };
}

function layersGraph(layers: readonly unknown[], weights: readonly WeightSpec[]): ModelGraph {
  const names = layers.map((layer, at) => {
    const config = fieldOf(layer, 'config');
    return textOf(fieldOf(layer, 'name') ?? fieldOf(config, 'name')) || `layer ${at}`;
  });
  const ofLayer = weightsByLayer(names, weights);
  const nodes = layers.map((layer, at): ModelNode => {
    const config = fieldOf(layer, 'config');
    const own = ofLayer.get(names[at] ?? '') ?? [];
    const shape = fieldOf(config, 'batch_input_shape') ?? fieldOf(config, 'batch_shape');
    return {
      id: names[at] ?? '',
      name: names[at] ?? '',
      type: textOf(fieldOf(layer, 'class_name')),
      shape: Array.isArray(shape) ? shapeText(shape.map(dimensionOf)) : '',
      parameterCount: own.reduce((sum, weight) => sum + sizeOf(weight.shape), 0),
      details: [
        ...own.map((weight) => [weight.name, shapeText(weight.shape)] as const),
        ...settingsOf(config),
      ],
    };
  });
  const known = new Set(names);
  const edges = layers.flatMap((layer, at): ModelEdge[] => {
    const to = names[at] ?? '';
    const inbound = fieldOf(layer, 'inbound_nodes');
    return [...sourcesIn(inbound, known)]
      .filter((from) => from !== to)
      .map((from) => ({ from, to }));
  });
  const isSequence = edges.length === 0;
  return {
    nodes: uniqueNodes(nodes),
    edges: isSequence ? names.slice(1).map((to, at) => ({ from: names[at] ?? '', to })) : edges,
  };
}

function weightsByLayer(
  names: readonly string[],
  weights: readonly WeightSpec[],
): ReadonlyMap<string, WeightSpec[]> {
  const known = new Set(names);
  const found = new Map<string, WeightSpec[]>();
  for (const weight of weights) {
    if (weight.group === 'optimizer') continue;
    // `features/conv1/kernel` belongs to the layer with the longest name that it begins with.
    const parts = weight.name.split('/');
    for (let count = parts.length - 1; count > 0; count -= 1) {
      const layer = parts.slice(0, count).join('/');
      if (!known.has(layer)) continue;
      getOrMake(found, layer, () => []).push(weight);
      break;
    }
  }
  return found;
}

const MAX_DEPTH = 12;

/** Names of known layers anywhere in `inbound_nodes`, whose form differs between versions of Keras. */
function sourcesIn(inbound: unknown, known: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH || found.size > 1000) return;
    if (typeof value === 'string') {
      if (known.has(value)) found.add(value);
    } else if (Array.isArray(value)) for (const one of value) visit(one, depth + 1);
    else if (typeof value === 'object' && value !== null)
      for (const one of Object.values(value)) visit(one, depth + 1);
  };
  visit(inbound, 0);
  return found;
}

const MAX_SETTINGS = 40;

function settingsOf(config: unknown): readonly (readonly [string, string])[] {
  if (typeof config !== 'object' || config === null) return [];
  return Object.entries(config)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, MAX_SETTINGS)
    .map(([name, value]: [string, unknown]) => [name.slice(0, MAX_TEXT), textOf(value)] as const);
}

function uniqueNodes(nodes: readonly ModelNode[]): readonly ModelNode[] {
  return [...new Map(nodes.map((node) => [node.id, node])).values()];
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function dimensionOf(value: unknown): number | string | null {
  return typeof value === 'number' || typeof value === 'string' ? value : null;
}

function shapeText(shape: readonly (number | string | null)[] | null): string {
  if (shape === null) return '';
  return `[${shape.map((size) => (size === null ? '?' : String(size).slice(0, 40))).join(', ')}]`;
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
