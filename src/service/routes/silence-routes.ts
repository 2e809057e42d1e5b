/** Routes that silence and acknowledge alerts. */
import { checkInstant, isGiven } from '../../base/assert.ts';
import { readSilences, silenceAlerts, unsilenceAlerts } from '../../read/silences.ts';
import {
  askedSilenceShape,
  silencedAlertsShape,
  silenceShape,
  type NewSilence,
  type SilencedAlerts,
} from '../../records/shapes/silence.ts';
import { checkShape, shapeToJson } from '../../schema/shape.ts';
import { decoder } from '../../wire/wire.ts';
import { requireRun } from './run-routes.ts';
import type { StoreHandlers } from './store-routes.ts';

const decodeAsked = decoder(askedSilenceShape);

export const silenceHandlers = {
  'GET /runs/:runId/silences': async ({ scope: { store }, params: { runId } }) => {
    await requireRun(store, runId);
    const silences = await readSilences({ store, runId });
    return { silences: silences.map((one) => shapeToJson(silenceShape, one)) };
  },

  'PUT /runs/:runId/silences': async ({ scope, params: { runId }, body }, { feeds }) => {
    const asked = decodeAsked((await body()).get('silence'));
    const silence: NewSilence = {
      moduleName: null,
      metricKey: null,
      kind: 'silence',
      by: scope.actor ?? null,
      ...asked,
      until: isGiven(asked.until)
        ? new Date(checkInstant('silence.until', asked.until)).toISOString()
        : null,
    };
    checkShape(askedSilenceShape, silence, 'silence.');
    await requireRun(scope.store, runId);
    const said = await silenceAlerts({ runId, store: scope.store }, silence);
    feeds.notify(scope, { runId, table: 'events' });
    return { silence: shapeToJson(silenceShape, said) };
  },

  'DELETE /runs/:runId/silences': async ({ scope, params: { runId }, query }, { feeds }) => {
    const { metricKey = null, moduleName = null, ruleId = '' } = query;
    const alerts: SilencedAlerts = { ruleId, metricKey, moduleName };
    checkShape(silencedAlertsShape, alerts);
    await requireRun(scope.store, runId);
    const atMs = await unsilenceAlerts({ runId, store: scope.store }, alerts);
    feeds.notify(scope, { runId, table: 'events' });
    return { at_ms: atMs };
  },
} satisfies Partial<StoreHandlers>;
