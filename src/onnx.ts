/** `quark-sdk/onnx`: records what sessions of onnxruntime-web do. onnxruntime-web is handed in, never imported. */
export {
  observeOnnxSession,
  type OnnxObserverOptions,
  type OnnxSession,
} from './adapters/onnx/session-observer.ts';
