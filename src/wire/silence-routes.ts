/** The routes that silence and acknowledge alerts: part of the table in `routes.ts`. */
import { json, message, number, read, textOf, write, type Route } from './route-parts.ts';

/** Most bytes of what is said of alerts: its texts are at most 512 characters each. */
const MAX_SILENCE_BYTES = 16 * 1024;

/** See the top of this file. */
export const SILENCE_ROUTES = {
  'GET /runs/:runId/silences': read(
    'getSilences',
    'What was said of the alerts of a run and was not taken back, in the order in which it was said; what has ended included',
    json({ silences: ['Silence'] }),
  ),
  'PUT /runs/:runId/silences': write(
    'putSilence',
    'Silences alerts of a run, or says that they are known. What was said of the same rule, layer and metric before counts no longer',
    json({ silence: 'Silence' }),
    { body: message(json({ silence: 'AskedSilence' }), MAX_SILENCE_BYTES, MAX_SILENCE_BYTES) },
  ),
  'DELETE /runs/:runId/silences': write(
    'deleteSilence',
    'Takes back what was said of the alerts of a rule, layer and metric. Doing it again changes nothing that is shown',
    json({ at_ms: number }),
    {
      query: {
        ruleId: textOf('The rule, as it was said.', true),
        moduleName: textOf('The layer, where it was said of one.'),
        metricKey: textOf('The metric, where it was said of one.'),
      },
    },
  ),
} as const satisfies Readonly<Record<string, Route>>;
