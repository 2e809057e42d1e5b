/** The profiler that belongs to a session. */
import type { RunContext } from '../../session/run-context.ts';
import { handleOf, type RunHandle } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { Profiler } from './profiler.ts';
import type { ProfilerOptions } from './profiler-options.ts';

const profilers = new WeakMap<RunHandle, Profiler>();

/**
 * The profiler of a session: the one that it has, or a new one. The option `profile: true` of a session does the same.
 *
 * @param options of a new one; default: all defaults
 * @throws {QuarkError} `invalid_input` naming the option; `invalid_run_state` when the run has ended
 * @example
 * ```js
 * import { startRun } from 'quark-sdk';
 * import { startProfiler } from 'quark-sdk/profiler';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const profiler = startProfiler(session); // the same as the option `profile: startProfiler`
 * await profiler.scope('Loading', async () => new Float32Array(1_000_000));
 * const { scopes } = await profiler.close();
 * console.log(scopes.map(({ name }) => name)); // [ 'Loading' ]
 * await session.endRun();
 * ```
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

/**
 * The profiler of a session that was started with `profile`, or by {@link startProfiler}; undefined where there is none.
 *
 * @example
 * ```js
 * import { startRun } from 'quark-sdk';
 * import { profilerOf } from 'quark-sdk/profiler';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs', profile: true });
 * const profile = await profilerOf(session)?.close();
 * console.log(profile?.checkpoints[0].name); // Start
 * await session.endRun();
 * ```
 */
export function profilerOf(session: TrainingSession | RunContext): Profiler | undefined {
  return profilers.get(handleOf(session));
}
