/** `quark-sdk/profiler`: how long things take and how much memory they need: timers, profiles, and what is left of a training. */
export { Timers, type TimersOptions } from './instruments/timers/timers.ts';
export { type RunningTimer, type Timer, type TimerOptions } from './instruments/timers/timer.ts';
export { readTimers, type TimerStatistics } from './profile/timer-records.ts';
export { profilerOf, startProfiler } from './instruments/profiler/start-profiler.ts';
export { ActiveScope, Profiler } from './instruments/profiler/profiler.ts';
export {
  type ProfileMetricContext,
  type ProfileMetric,
  type ProfilerOptions,
} from './instruments/profiler/profiler-options.ts';
export { type TensorSource } from './base/profiling.ts';
export { type WatchedDevice } from './instruments/profiler/device-memory.ts';
export { readProfiles } from './profile/profile-records.ts';
export {
  PEAK_SOURCES,
  type GpuReading,
  type PeakSource,
  type Profile,
  type ProfileCheckpoint,
  type ProfileReading,
  type ProfileScope,
  type ScopeMark,
} from './profile/profile.ts';
export {
  PROFILE_MEASURES,
  type MeasureName,
  type MetricNote,
  type ProfileMeasure,
  type ProfileValues,
} from './profile/measures.ts';
export { ProfileStep } from './base/profile-steps.ts';
export { profileOutline, type ProfileLine } from './profile/outline.ts';
export { profileYaml } from './profile/export-yaml.ts';
export { profileTrace, type ChromeTrace } from './profile/export-trace.ts';
export { profileJson } from './profile/export-json.ts';
export { profileFindings, type ProfileFinding } from './profile/findings.ts';
export {
  compareProfiles,
  stepTotals,
  type ProfileComparison,
  type StepComparison,
  type StepTotals,
  type SummaryComparison,
} from './profile/compare.ts';
export { overheadOf, readOverhead } from './profile/overhead.ts';
export { type OverheadReport } from './records/overhead.ts';
export { type OverheadPart } from './base/thread/thread-time.ts';
export {
  progressOf,
  readProgress,
  trainingTotalOf,
  type ProgressPoint,
  type ProgressTotal,
  type RunProgress,
} from './profile/progress.ts';
