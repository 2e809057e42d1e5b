/** What the worker of a watch runs. */
import { exposeHost } from '../../kernel/workers/worker-host.ts';
import { LiveEvaluator } from './live-evaluator.ts';
import type { LiveRequest } from './messages.ts';

/** Makes this thread the worker of a watch. */
export function exposeWatch(): void {
  exposeHost<LiveRequest>(() => {
    let evaluator: LiveEvaluator | undefined;
    return (request, buffer) => {
      if (request.start !== undefined)
        evaluator = new LiveEvaluator(request.start.settings, request.start.memory);
      if (evaluator === undefined) throw new Error('The first request of a watch has to start it.');
      return evaluator.take(request, buffer);
    };
  });
}
