/** The model of a run: as it was given or configured, or as a training said that it begins with it (`adapters/tfjs/model-facts.ts`). */
import type { EventColumns, RunColumns } from '../columns/run-columns.ts';
import { field, outlineOf, type ModelOutline } from './model-layers.ts';

/** The model that was given, or that the configuration of the run describes, or that was recorded; undefined where none is known. */
export function modelOutline(
  { events, run: { config } }: RunColumns,
  model: unknown,
): ModelOutline | undefined {
  return outlineOf(model ?? config['model'] ?? config, config) ?? recordedOutline(events);
}

/** The model of the last start of a training; undefined where none was recorded. */
export function recordedOutline({ eventTypes, payloads }: EventColumns): ModelOutline | undefined {
  const at = eventTypes.lastIndexOf('training_started');
  const text = at < 0 ? '' : (payloads[at] ?? '');
  if (!text.includes('"topology"')) return undefined;
  const payload: unknown = JSON.parse(text);
  return outlineOf(field(payload, 'topology'), payload);
}
