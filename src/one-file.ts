/**
 * `quark.min.js`: recording, IndexedDB and the callback of TensorFlow.js in one file without imports. It is for
 * `<script type="module">` from the address of a package host, and for bundlers that cannot split code, as Vite makes a worker by default.
 *
 * @example
 * import { MetricsLogger, startRun } from 'https://cdn.jsdelivr.net/npm/quark-sdk/dist/quark.min.js';
 *
 * const session = await startRun({ project: 'demo' });
 * new MetricsLogger(session).log('train/loss', 0.31, { step: 1 });
 */
export { isQuarkError, isStoreError, QuarkError } from './base/errors.ts';
export { VERSION } from './base/version.ts';
export { openStorage } from './location/open-storage.ts';
export { openRun } from './read/run-reader.ts';
export { listRuns } from './read/runs.ts';
export { addLog, addTag, endRun, resumeRun, startRun } from './session/functions.ts';
export { EventLogger } from './session/event-logger.ts';
export { MetricsLogger } from './session/metrics-logger.ts';
export { TrainingSession } from './session/training-session.ts';
export { quarkCallback } from './adapters/tfjs/training-callback.ts';
