/** `quark-sdk/onnx`: looks into models of onnxruntime-web and trains them. onnxruntime-web is handed in, never imported. */
export {
  observeOnnxSession,
  type OnnxObserverOptions,
  type OnnxSession,
} from './adapters/onnx/watch/session-observer.ts';
export {
  instrumentOnnx,
  type InstrumentedOnnx,
  type InstrumentOnnxOptions,
  type OnnxCapture,
  type OnnxUnobserved,
} from './adapters/onnx/watch/instrument.ts';
export {
  readOnnxGraph,
  type OnnxGraph,
  type OnnxGraphNode,
} from './adapters/onnx/file/onnx-graph.ts';
export { joinOnnxData, type OnnxDataReader } from './adapters/onnx/file/onnx-data.ts';
export type { ElementType, OnnxDimension } from './adapters/onnx/file/onnx-format.ts';
export {
  openOnnxModel,
  type OnnxModel,
  type OpenOnnxModelOptions,
} from './adapters/onnx/watch/probed-session.ts';
export type {
  Ort,
  OrtSession,
  OrtSessionOptions,
  OrtTensor,
  OrtValues,
  SessionOf,
} from './adapters/onnx/ort.ts';
export {
  buildOnnxTraining,
  type OnnxLoss,
  type OnnxTrainedLayer,
  type OnnxTrainedParameter,
  type OnnxTrainedState,
  type OnnxTraining,
  type OnnxTrainingConfig,
} from './adapters/onnx/train/training-step.ts';
export {
  openOnnxTrainer,
  type OnnxStepOptions,
  type OnnxTrainer,
  type OnnxTrainerOptions,
  type WeightLocation,
} from './adapters/onnx/train/trainer.ts';
export { freeOnnxBatch, type FreeOnnxBatchOptions } from './adapters/onnx/train/free-batch.ts';
export type { OnnxBatch } from './adapters/onnx/train/batch-feeds.ts';
export type {
  OnnxActivation,
  OnnxInitializer,
  OnnxLayer,
  OnnxLayersModel,
} from './adapters/onnx/train/layer-kinds.ts';
export type { OnnxOptimizer, OptimizerSettings } from './adapters/onnx/train/optimizers.ts';
export {
  TRAINABLE_OPS as ONNX_TRAINABLE_OPS,
  type NetworkInput,
  type NetworkNoise,
  type NetworkParameter,
} from './adapters/onnx/train/network.ts';
export {
  openLegacyOnnxTraining,
  type LegacyOnnxTraining,
  type LegacyOrt,
  type LegacyTrainingArtifacts,
  type LegacyTrainingOptions,
  type LegacyTrainingSession,
} from './adapters/onnx/watch/legacy-training.ts';
export { type LegacySessionOf } from './adapters/onnx/watch/legacy-training.ts';
