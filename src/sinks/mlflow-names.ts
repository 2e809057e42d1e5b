/** Names and values as MLflow takes them. */
import type { JsonValue } from '../base/json.ts';
import { contextAsPath } from '../base/series-key.ts';
import { MLFLOW_LIMITS, type MlflowEntry } from './mlflow-client.ts';

/** MLflow takes letters, digits, "_", "-", ".", " ", ":" and "/". */
const FOREIGN = /[^\p{L}\p{N}_\-. :/]/gu;

/**
 * Keys of one run, each of which is a name that MLflow takes. A context becomes the end of the path: `loss {subset=val}` is
 * `loss/subset.val`. Of two keys that would be the same, the later gets "_2" behind it.
 */
export class MlflowNames {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  nameOf(key: string): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const wanted = mlflowName(key);
    let name = wanted;
    for (let i = 2; this.#taken.has(name); i++)
      name = `${wanted.slice(0, MLFLOW_LIMITS.keyChars - 8)}_${i}`;
    this.#names.set(key, name);
    this.#taken.add(name);
    return name;
  }
}

function mlflowName(key: string): string {
  const name = contextAsPath(key)
    .replace(FOREIGN, '_')
    // Nor a path that leads up or is absolute.
    .split('/')
    .map((part) => (/^\.*$/.test(part) ? `_${part.replace(/\./g, '_')}` : part))
    .join('/');
  return name.slice(0, MLFLOW_LIMITS.keyChars);
}

/** The leaves of a configuration; nested names are joined by ".". */
export function paramsOf(config: JsonValue, names: MlflowNames): readonly MlflowEntry[] {
  const params: MlflowEntry[] = [];
  const visit = (value: JsonValue, path: string): void => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, item] of Object.entries(value))
        visit(item, path === '' ? key : `${path}.${key}`);
      return;
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    params.push({ key: names.nameOf(path), value: text.slice(0, MLFLOW_LIMITS.paramChars) });
  };
  visit(config, '');
  return params;
}
