/** The options of every analysis that may run in a worker. */
import { invalidInput } from '../../base/errors.ts';
import { callable, literal, optional, orDefault } from '../../base/options.ts';
import { WORKER_MODES, type WorkerLike, type WorkerMode } from '../../kernel/workers/spawn.ts';

/** How far an analysis is: bytes of segments that were read, then the share of its rules or runs that are done, 0 to 1. */
export type AnalysisProgress =
  | { readonly stage: 'reading'; readonly bytes: number }
  | { readonly stage: 'computing'; readonly share: number };

/** Where an analysis runs, how it is ended early, and who is told how far it is. */
export type RunAnalysisOptions = {
  /**
   * How the worker is made; default `auto`: by the address of its file, then from the text that the package carries. Where neither
   * works, and with `none`, the calling thread analyses, rule by rule.
   */
  readonly workerMode?: WorkerMode | undefined;
  /** Makes the worker instead, for set-ups that reach neither. It runs the package's `watch-worker.js`. */
  readonly spawn?: (() => WorkerLike) | undefined;
  /** Ends the analysis: it rejects with code `aborted`, and nothing is stored. */
  readonly signal?: AbortSignal | undefined;
  /** Called now and then with how far the analysis is. */
  readonly onProgress?: ((progress: AnalysisProgress) => void) | undefined;
};

/** The rules of {@link RunAnalysisOptions}. */
export const runAnalysisRules = {
  workerMode: orDefault(literal<WorkerMode>(WORKER_MODES), 'auto'),
  spawn: optional(callable<() => WorkerLike>),
  signal: optional(abortSignal),
  onProgress: optional(callable<(progress: AnalysisProgress) => void>),
};

function abortSignal(field: string, given: unknown): AbortSignal {
  if (given instanceof AbortSignal) return given;
  throw invalidInput(field, given, 'an AbortSignal');
}
