/** The graph of an ONNX file, for those who draw it: its operations and what flows between them, without the numbers of weights. */
import type { OnnxDimension, OnnxModelFile } from './onnx-format.ts';
import { readOnnxModel } from './onnx-reader.ts';

/** An operation of a graph. */
export type OnnxGraphNode = {
  /** As the file has it; empty where it has none. */
  readonly name: string;
  readonly opType: string;
  /** Names of the tensors that it takes, weights left out. */
  readonly inputs: readonly string[];
  /** Names of the tensors that it makes. */
  readonly outputs: readonly string[];
  /** Shape of its first output; null where the file does not say. */
  readonly shape: readonly OnnxDimension[] | null;
  /** Weights and constants that it takes. */
  readonly parameters: readonly { readonly name: string; readonly shape: readonly number[] }[];
};

/** The graph of an ONNX file. */
export type OnnxGraph = {
  readonly nodes: readonly OnnxGraphNode[];
  /** Tensors that a caller gives, without weights. */
  readonly inputs: readonly {
    readonly name: string;
    readonly shape: readonly OnnxDimension[] | null;
  }[];
  /** Names of the tensors that a caller gets. */
  readonly outputs: readonly string[];
};

/**
 * Reads the graph of an ONNX file. Nothing is run, and no onnxruntime is needed.
 *
 * @param bytes the file, at most 2 GiB, 1,000,000 nodes
 * @throws {QuarkError} `invalid_input` for bytes that are no complete ONNX file; `unsupported` for an `.ort` file
 * @example
 * ```js
 * import { buildOnnxTraining, readOnnxGraph } from 'quark-sdk/onnx';
 *
 * const training = buildOnnxTraining(
 *   { inputShape: [2], layers: [{ kind: 'dense', name: 'hidden', units: 4, activation: 'relu' }] },
 *   { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
 * );
 * const file = training.exportModel({}); // the bytes of an .onnx file
 * const { inputs, nodes, outputs } = readOnnxGraph(file);
 * console.log(nodes.map(({ opType }) => opType), inputs.length, outputs.length); // [ 'Gemm', 'Relu' ] 1 1
 * ```
 */
export function readOnnxGraph(bytes: Uint8Array): OnnxGraph {
  const file = readOnnxModel(bytes);
  const shapes = shapesOf(file);
  return {
    nodes: file.nodes.map((node) => ({
      name: node.name,
      opType: node.opType,
      inputs: node.inputs.filter((name) => name !== '' && !file.initializers.has(name)),
      outputs: node.outputs.filter((name) => name !== ''),
      shape: shapes.get(node.outputs[0] ?? '') ?? null,
      parameters: node.inputs.flatMap((name) => {
        const tensor = file.initializers.get(name);
        return tensor === undefined ? [] : [{ name, shape: tensor.shape }];
      }),
    })),
    inputs: file.inputs
      .filter(({ name }) => !file.initializers.has(name))
      .map(({ name, shape }) => ({ name, shape })),
    outputs: file.outputs.map(({ name }) => name),
  };
}

function shapesOf({
  outputs,
  valueInfos,
}: OnnxModelFile): ReadonlyMap<string, readonly OnnxDimension[] | null> {
  return new Map([...valueInfos.values(), ...outputs].map(({ name, shape }) => [name, shape]));
}
