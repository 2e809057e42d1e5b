/** `quark-sdk/profiler`: how long things take and how much memory they need: timers, profiles, and what is left of a training. */
export { Timers, type TimersOptions } from './instruments/timers/timers.ts';
export { type RunningTimer, type Timer, type TimerOptions } from './instruments/timers/timer.ts';
export { readTimers, type TimerStatistics } from './profile/timer-records.ts';
