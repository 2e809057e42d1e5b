/**
 * `quark-sdk/tracker`: one interface over several providers, for code that must not know which; and mirrors, which send the
 * records of a run to other programs while it goes on.
 */
export { openTracker } from './tracker/open-tracker.ts';
export type {
  ConsoleTrackerConfig,
  MlflowTrackerConfig,
  NullTrackerConfig,
  QuarkTrackerConfig,
  TeeTrackerConfig,
  TensorBoardTrackerConfig,
  TrackedRun,
  TrackerConfig,
} from './tracker/config.ts';
export {
  TRACKER_PROVIDERS,
  type Distribution,
  type Tracker,
  type TrackerContext,
  type TrackerProvider,
  type TrackerState,
  type TrackerStatus,
  type TrackOptions,
} from './tracker/tracker.ts';
export {
  finishMirror,
  mirrorRun,
  LiveMirror,
  type MirrorOptions,
  type MirrorStatus,
} from './sinks/live-mirror.ts';
export { functionSink, lineSink } from './sinks/function-sinks.ts';
export { mlflowSink, type MlflowSinkOptions } from './sinks/mlflow-sink.ts';
export { tensorBoardSink, type TensorBoardSinkOptions } from './sinks/tensorboard-sink.ts';
export type {
  OpenedSink,
  Sink,
  SinkBatch,
  SinkDistribution,
  SinkImage,
  SinkMedia,
  SinkRun,
  SinkScalars,
  SinkSound,
  SinkText,
} from './sinks/sink.ts';
