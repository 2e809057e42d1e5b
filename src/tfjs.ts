/** `quark-sdk/tfjs`: records trainings of TensorFlow.js. TensorFlow.js itself is handed in, never imported. */
export type {
  QuarkCallbackOptions,
  TfjsModel,
  TfjsNamespace,
} from './adapters/tfjs/callback-options.ts';
export { type TrainingDiagnostics } from './adapters/tfjs/fit-overhead.ts';
export { quarkCallback, type QuarkCallback } from './adapters/tfjs/training-callback.ts';
export { type OverheadReport } from './records/overhead.ts';
export { type OverheadPart } from './base/thread/thread-time.ts';
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
