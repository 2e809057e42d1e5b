/** A configuration as hyperparameters: nested names are joined by ".". */
import type { JsonValue } from '../../base/json.ts';

const MAX_HPARAMS = 1000;

/** A name and its value. */
export type Hparam = readonly [string, number | string | boolean];

/** Numbers, texts and booleans of a configuration, lists as JSON; the first 1,000. */
export function hparamsOf(config: JsonValue): readonly Hparam[] {
  return [...scalarsOf(config, '')].slice(0, MAX_HPARAMS);
}

function* scalarsOf(value: JsonValue, path: string): Generator<Hparam> {
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
    yield [path, value];
  else if (Array.isArray(value)) yield [path, JSON.stringify(value)];
  else if (value !== null)
    for (const [key, item] of Object.entries(value))
      yield* scalarsOf(item, path === '' ? key : `${path}.${key}`);
}
