/**
 * The training model of the frozen training API, with its intermediate tensors as outputs: each through an Identity of
 * another name, because the API hides outputs whose names end in `_grad`.
 */
import { invalidInput } from '../../../base/errors.ts';
import { layerFilter, type LayerFilterConfig } from '../../../instruments/probes/layer-filter.ts';
import type { LayerInfo, ParameterInfo } from '../../../instruments/probes/model-source.ts';
import { appendToGraph, layerNames, makesNumbers } from './instrument.ts';
import type { OnnxModelFile as OnnxFile, OnnxNode } from '../file/onnx-format.ts';
import { readOnnxModel } from '../file/onnx-reader.ts';
import { nodeMessage, valueInfoMessage } from '../file/onnx-writer.ts';
import { channelsFirst, onnxUnitAxisOf } from './unit-axes.ts';
import { ByteWriter } from '../../../codecs/protobuf/writer.ts';

/** A layer that can be observed. */
export type CapturedLayer = {
  readonly info: LayerInfo;
  readonly activation: string;
  /** Null before the first trained parameter. */
  readonly gradient: string | null;
};

/** A trained parameter. */
export type CapturedParameter = {
  readonly info: ParameterInfo;
  readonly gradient: string;
  /** Where it begins among all trained parameters. */
  readonly offset: number;
  readonly length: number;
};

/** A training model that gives its intermediate tensors. */
export type CapturedModel = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly layers: readonly CapturedLayer[];
  readonly parameters: readonly CapturedParameter[];
  readonly outputs: readonly string[];
};

const SUFFIX = '_grad';

/** @throws {QuarkError} `invalid_input` for a model that is damaged or trains nothing */
export function captureModel(bytes: Uint8Array, filters: LayerFilterConfig = {}): CapturedModel {
  const file = readOnnxModel(bytes);
  const produced = new Set(file.nodes.flatMap(({ outputs }) => outputs));
  const added = new ByteWriter();
  const outputs: string[] = [];
  const expose = (name: string): string => {
    const output = `quark_captured_${outputs.length}`;
    added.part(1, nodeMessage('Identity', [name], [output]));
    added.part(12, valueInfoMessage(output));
    outputs.push(output);
    return output;
  };
  const layers = capturedLayers(file, produced, filters, expose);
  const parameters = capturedParameters(file, produced, expose);
  if (parameters.length === 0)
    throw invalidInput(
      'artifacts.trainModel',
      'a model without gradients',
      'a training model, as onnxruntime makes them',
    );
  return { bytes: appendToGraph(bytes, added), layers, parameters, outputs };
}

/** Layers are the nodes of the forward pass: neither gradients nor what accumulates them. */
function capturedLayers(
  file: OnnxFile,
  produced: ReadonlySet<string>,
  filters: LayerFilterConfig,
  expose: (name: string) => string,
): CapturedLayer[] {
  const isWanted = layerFilter(filters);
  const names = layerNames(file.nodes);
  const firsts = channelsFirst(file.nodes);
  return file.nodes.flatMap((node, index) => {
    const output = node.outputs[0] ?? '';
    const name = names[index] ?? '';
    const shape = file.valueInfos.get(output)?.shape ?? null;
    const unitAxis = onnxUnitAxisOf(output, shape, firsts);
    const info = { name, type: node.opType, isLeaf: true, unitAxis };
    if (output === '' || isBackward(node) || !makesNumbers(node.opType) || !isWanted(info))
      return [];
    const gradient = `${output}${SUFFIX}`;
    return [
      {
        info,
        activation: expose(output),
        gradient: produced.has(gradient) ? expose(gradient) : null,
      },
    ];
  });
}

function isBackward({ name, opType, outputs }: OnnxNode): boolean {
  return (
    name.includes('_Grad/') ||
    opType.endsWith('Grad') ||
    opType.startsWith('InPlaceAccumulator') ||
    outputs.some((output) => output.endsWith(SUFFIX))
  );
}

/** Trained parameters are the inputs that have gradients; their values come in the order of the inputs. */
function capturedParameters(
  file: OnnxFile,
  produced: ReadonlySet<string>,
  expose: (name: string) => string,
): CapturedParameter[] {
  const users = new Map(
    file.nodes.flatMap((node) =>
      isBackward(node) ? [] : node.inputs.map((name, i) => [name, { node, i }] as const),
    ),
  );
  const names = new Map(layerNames(file.nodes).map((name, i) => [file.nodes[i], name]));
  let offset = 0;
  return file.inputs.flatMap(({ name, shape, elementType }) => {
    if (!produced.has(`${name}${SUFFIX}`)) return [];
    const sizes = (shape ?? [null]).filter((size) => typeof size === 'number');
    // Values are found by where they begin, which all sizes before decide.
    if (shape === null || sizes.length < shape.length)
      throw invalidInput(
        'artifacts.trainModel',
        name,
        'a training model that states the shapes of its parameters',
      );
    const length = sizes.reduce((product, size) => product * size, 1);
    const user = users.get(name);
    const info: ParameterInfo = {
      name,
      moduleName: names.get(user?.node) ?? '',
      role: user === undefined ? 'other' : sizes.length > 1 ? 'weight' : 'bias',
      shape: sizes,
      dtype: elementType ?? 'float32',
      optimizerGroup: 'default',
    };
    const found = { info, gradient: expose(`${name}${SUFFIX}`), offset, length };
    offset += length;
    return [found];
  });
}
