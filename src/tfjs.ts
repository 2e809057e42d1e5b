/** `quark-sdk/tfjs`: records trainings of TensorFlow.js. TensorFlow.js itself is handed in, never imported. */
export {
  quarkCallback,
  type QuarkCallback,
  type QuarkCallbackOptions,
  type TfjsLogs,
  type TfjsModel,
  type TfjsNamespace,
} from './adapters/tfjs/training-callback.ts';
