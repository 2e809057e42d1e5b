/** `quark-sdk/media`: images, sound, tables, distributions, curves, embeddings, models, files and code of a run; logged and read back. */
export {
  MediaLogger,
  type LogAudioOptions,
  type LogCodeOptions,
  type LogCurveOptions,
  type LogDirectoryOptions,
  type LogDistributionOptions,
  type LoggedDirectory,
  type LogMediaOptions,
  type LogTextOptions,
} from './instruments/media/media-logger.ts';
export {
  loadMedia,
  readMedia,
  type MediaContent,
  type MediaFilter,
  type MediaItem,
  type MediaRead,
} from './instruments/media/read-media.ts';
export {
  MEDIA_KINDS,
  type MediaKind,
  type MediaMetadata,
} from './instruments/media/media-shapes.ts';
export { type DistributionValues } from './instruments/media/distribution.ts';
export { type Embedding, type EmbeddingInput } from './instruments/media/embedding.ts';
export type {
  ConfusionInput,
  ConfusionMatrix,
  CurveInput,
  PrCurve,
  RocCurve,
} from './instruments/media/evaluation.ts';
export type { ImageInput, ImagePixels, ImageTensor } from './instruments/media/image.ts';
export { describeImage } from './instruments/media/png.ts';
export type { TableCell, TableContent, TableInput } from './instruments/media/table.ts';
export type { AudioInput, AudioSamples } from './instruments/media/wav.ts';
export {
  loadModel,
  type ExportableModel,
  type LoadModelOptions,
  type ModelFormat,
  type ModelInput,
  type SavableModel,
  type StoredModel,
  type TfjsModelArtifacts,
  type TfjsWeightSpec,
} from './instruments/media/model.ts';
export {
  compareCode,
  readRunCode,
  type CodeComparison,
  type CodeState,
  type ComparableRun,
  type FileChange,
  type ValueChange,
} from './instruments/media/code.ts';
export type {
  DirectoryHandle,
  DirectoryInput,
  FileHandle,
  FileInput,
} from './instruments/media/files.ts';
export type { FoundFile, SkippedFile } from './session/platforms/platform.ts';
