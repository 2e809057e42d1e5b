/** What the worker of watches and of analyses runs. */
import { SeriesModule } from '../../kernel/series/module/module.ts';
import { createWasmSeriesKernel, jsSeriesKernel } from '../../kernel/series/series-kernel.ts';
import { exposeHost } from '../../kernel/workers/worker-host.ts';
import { LiveEvaluator } from './live-evaluator.ts';
import { answerCall, type AnalysisCall } from '../worker/job-port.ts';
import type { LiveRequest } from './messages.ts';

/** Makes this thread the worker of a watch, or of analyses. */
export function exposeWatch(): void {
  exposeHost<LiveRequest | AnalysisCall>((modules) => {
    let evaluator: LiveEvaluator | undefined;
    // The calling thread compiles the module: this file does not contain it.
    const kernel =
      modules === null ? jsSeriesKernel : createWasmSeriesKernel(new SeriesModule(modules[0]));
    const execute = (request: LiveRequest | AnalysisCall, buffer: ArrayBufferLike): unknown => {
      if ('port' in request) return answerCall(request, kernel);
      if (request.start !== undefined)
        evaluator = new LiveEvaluator(request.start.settings, request.start.memory);
      if (evaluator === undefined) throw new Error('The first request of a watch has to start it.');
      return evaluator.take(request, buffer);
    };
    return { execute };
  });
}
