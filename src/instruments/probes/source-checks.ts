/** Checks of a model source: it may be a user's own. */
import { invalidInput } from '../../base/errors.ts';
import { checkModuleName } from '../../base/names.ts';
import type { ModelSource } from './model-source.ts';

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkSource(source: ModelSource): ModelSource {
  if (typeof source !== 'object' || source === null)
    throw invalidInput('source', source, 'a model source, such as tfjsModel(tf, model) gives');
  for (const method of ['watchLayers', 'watchParameters', 'readParameter'] as const) {
    if (typeof source[method] !== 'function')
      throw invalidInput(
        `source.${method}`,
        source[method],
        'a function: pass a model source, such as tfjsModel(tf, model) gives, not the model itself',
      );
  }
  if (!Array.isArray(source.layers)) throw invalidInput('source.layers', source.layers, 'a list');
  if (!Array.isArray(source.parameters))
    throw invalidInput('source.parameters', source.parameters, 'a list');
  checkUnique('source.layers', source.layers);
  checkUnique('source.parameters', source.parameters);
  return source;
}

function checkUnique(field: string, items: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  items.forEach(({ name }, i) => {
    if (typeof name !== 'string' || name === '' || seen.has(name))
      throw invalidInput(`${field}[${i}].name`, name, 'non-empty text that no other has');
    checkModuleName(`${field}[${i}].name`, name);
    seen.add(name);
  });
}
