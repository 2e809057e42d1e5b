/** `quark-sdk/tfjs`: records trainings of TensorFlow.js. TensorFlow.js itself is handed in, never imported. */
export {
  quarkCallback,
  type QuarkCallback,
  type QuarkCallbackOptions,
  type TfjsModel,
  type TfjsNamespace,
} from './adapters/tfjs/training-callback.ts';
export { type TfjsLogs } from './adapters/tfjs/fit-logs.ts';
export { type TrainingProbesOptions } from './adapters/tfjs/training-probes.ts';
export {
  tfjsModel,
  tfjsVariables,
  type TfjsModelOptions,
  type TfjsSource,
  type TfjsVariablesOptions,
} from './adapters/tfjs/tfjs-model.ts';
export type {
  TfjsLayersModel,
  TfjsOptimizer,
  TfjsRuntime,
  TfTensor,
} from './adapters/tfjs/tfjs-types.ts';
