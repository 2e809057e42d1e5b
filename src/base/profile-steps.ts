/** Names of steps that programs have in common, so that their profiles can be compared. */

import { KERNEL_START } from './profiling.ts';

/**
 * Names for scopes and checkpoints. The first ones are those of AMD Quark's profiler, the others the ones that Quark opens by itself.
 *
 * @example
 * ```js
 * import { Profiler, ProfileStep } from 'quark-sdk/profiler';
 *
 * const profiler = new Profiler();
 * profiler.scope(ProfileStep.CALIBRATION, () => {});
 * console.log(ProfileStep.CALIBRATION, profiler.profile.scopes.length); // Calibration 1
 * await profiler.close();
 * ```
 */
export const ProfileStep = Object.freeze({
  START: 'Start',
  END: 'End',
  USER_DEFINED: 'User-Defined',
  MODEL_LOADED: 'Model Loaded',
  FILE_TO_FILE_QUANTIZATION: 'File-to-File Quantization',
  MODEL_LOADING: 'Model Loading',
  DATASET_LOADING: 'Dataset Loading',
  MODEL_QUANTIZATION: 'Model Quantization',
  MODEL_EVALUATION: 'Model Evaluation',
  CALIBRATION: 'Calibration',
  CALIBRATION_WEIGHTS: 'Calibration (Weights)',
  CALIBRATION_FORWARD: 'Calibration (Forward)',
  FREEZE_MODEL: 'Freeze Model',
  MODEL_PREPARATION: 'Model Preparation',
  ADVANCED_ALGORITHMS: 'Advanced Algorithms',
  EXPORT_HF_SAFETENSORS: 'Export HF Safetensors',
  EXPORT_ONNX: 'Export ONNX',
  EXPORT_GGUF: 'Export GGUF',
  PRE_PROCESS: 'Pre-process',
  QUANTIZATION_MATMUL_NBITS: 'Quantization (MatMulNBits)',
  QUANTIZATION_STATIC: 'Quantization (Static)',
  QUANTIZATION_DYNAMIC: 'Quantization (Dynamic)',
  POST_PROCESS: 'Post-process',
  FAST_FINETUNE: 'Fast Finetune',
  MODEL_CACHING: 'Model Caching',
  FLOAT_MODEL_VALIDATION: 'Float Model Validation',
  MODEL_COMPILE: 'Model Compile',
  MODEL_SAVING: 'Model Saving',
  TRAINING: 'Training',
  FIRST_STEP: 'First Step',
  EPOCH: 'Epoch',
  KERNEL_START,
  ANALYSIS: 'Analysis',
  IMPORT: 'Import',
  EXPORT: 'Export',
});

/** Steps in which a model is trained. */
export const TRAINING_STEPS: ReadonlySet<string> = new Set([
  ProfileStep.TRAINING,
  ProfileStep.EPOCH,
  ProfileStep.FIRST_STEP,
]);

/** Steps that are no training even where they are inside of it. */
export const OTHER_STEPS: ReadonlySet<string> = new Set(
  Object.values(ProfileStep).filter((step) => !TRAINING_STEPS.has(step)),
);
