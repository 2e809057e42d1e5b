/** The model that a training said it begins with; see `adapters/tfjs/model-facts.ts`. */
import type { EventColumns } from '../columns/run-columns.ts';
import { field, outlineOf, type ModelOutline } from './model-layers.ts';

/** The model of the last start of a training; undefined where none was recorded. */
export function recordedOutline({ eventTypes, payloads }: EventColumns): ModelOutline | undefined {
  const at = eventTypes.lastIndexOf('training_started');
  const text = at < 0 ? '' : (payloads[at] ?? '');
  if (!text.includes('"topology"')) return undefined;
  const payload: unknown = JSON.parse(text);
  return outlineOf(field(payload, 'topology'), payload);
}
