/** The profiler that belongs to a session. */
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, type RunHandle } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { Profiler } from './profiler.ts';
import type { ProfilerOptions } from './profiler-options.ts';

const profilers = new WeakMap<RunHandle, Profiler>();

/**
 * The profiler of a session; made the first time. What `profile: true` of a session does.
 *
 * @example
 * const session = await startRun({ project: 'digits', profile: startProfiler });
 *
 * @param options of a new one; default: all defaults
 * @throws {QuarkError} `invalid_input` naming the option; `invalid_run_state` when the run has ended
 */
export function startProfiler(
  session: TrainingSession | RunContext,
  options: ProfilerOptions = {},
): Profiler {
  const handle = handleOf(session);
  const profiler = profilers.get(handle) ?? new Profiler(session, options);
  profilers.set(handle, profiler);
  return profiler;
}

/** The profiler of a session that was started with `profile`, or by {@link startProfiler}; undefined where there is none. */
export function profilerOf(session: TrainingSession | RunContext): Profiler | undefined {
  return profilers.get(handleOf(session));
}
