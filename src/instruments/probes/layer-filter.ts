/** Which layers and parameters are observed. */
import { checkLiteral } from '../../base/assert.ts';
import { invalidInput, messageOf } from '../../base/errors.ts';
import { flag, readOptions } from '../../base/options.ts';
import { PARAMETER_ROLES, type ParameterRole } from '../../records/literals.ts';
import type { LayerInfo, ParameterInfo } from './model-source.ts';

/** A regular expression, or its text. */
export type NamePattern = string | RegExp;

/**
 * Which layers are instrumented. A layer has to match every kind of `include` that is not empty, and no `exclude`.
 * Patterns are regular expressions that may match anywhere in the name.
 */
export type LayerFilterConfig = {
  /** Names of layers. Default: any. */
  readonly includeNames?: Iterable<string>;
  readonly excludeNames?: Iterable<string>;
  /** Classes of layers, plain (`Dense`) or qualified (`tfjs.layers.Dense`). Default: any. */
  readonly includeTypes?: Iterable<string>;
  readonly excludeTypes?: Iterable<string>;
  /** Patterns of names, of which one has to match. Default: any. */
  readonly includeNamePatterns?: Iterable<NamePattern>;
  readonly excludeNamePatterns?: Iterable<NamePattern>;
  /** Leaves containers out; default true. */
  readonly leafModulesOnly?: boolean;
};

/** Which parameters are observed: one of each `include` that is not empty has to match, and no `exclude`. */
export type ParameterFilterConfig = {
  /** Patterns of full parameter names. Default: any. */
  readonly includeParameterPatterns?: Iterable<NamePattern>;
  readonly excludeParameterPatterns?: Iterable<NamePattern>;
  /** Default: any. */
  readonly includeParameterRoles?: Iterable<ParameterRole>;
};

const NONE: readonly never[] = Object.freeze([]);

/** The defaults of {@link LayerFilterConfig}. */
export const DEFAULT_LAYER_FILTER_CONFIG = Object.freeze({
  includeNames: NONE,
  excludeNames: NONE,
  includeTypes: NONE,
  excludeTypes: NONE,
  includeNamePatterns: NONE,
  excludeNamePatterns: NONE,
  leafModulesOnly: true,
});

const LAYER_RULES = {
  includeNames: nameSet,
  excludeNames: nameSet,
  includeTypes: nameSet,
  excludeTypes: nameSet,
  includeNamePatterns: patterns,
  excludeNamePatterns: patterns,
  leafModulesOnly: flag(DEFAULT_LAYER_FILTER_CONFIG.leafModulesOnly),
};

/** The test a layer has to pass. @throws {QuarkError} `invalid_input` naming the field */
export function layerFilter(config: LayerFilterConfig = {}): (layer: LayerInfo) => boolean {
  const {
    excludeNamePatterns: excluded,
    includeNamePatterns: included,
    excludeNames,
    excludeTypes,
    includeNames,
    includeTypes,
    leafModulesOnly,
  } = readOptions('filters', config, LAYER_RULES);
  const hasType = (types: ReadonlySet<string>, layer: LayerInfo): boolean =>
    types.has(layer.type) || (layer.qualifiedType !== undefined && types.has(layer.qualifiedType));
  return (layer) =>
    (layer.isLeaf || !leafModulesOnly) &&
    (includeNames.size === 0 || includeNames.has(layer.name)) &&
    (includeTypes.size === 0 || hasType(includeTypes, layer)) &&
    (included.length === 0 || included.some((pattern) => pattern.test(layer.name))) &&
    !excludeNames.has(layer.name) &&
    !hasType(excludeTypes, layer) &&
    !excluded.some((pattern) => pattern.test(layer.name));
}

/** The test a parameter has to pass. @throws {QuarkError} `invalid_input` naming the field */
export function parameterFilter(
  config: ParameterFilterConfig,
): (parameter: ParameterInfo) => boolean {
  const included = patterns('includeParameterPatterns', config.includeParameterPatterns);
  const excluded = patterns('excludeParameterPatterns', config.excludeParameterPatterns);
  const roles = new Set(
    list('includeParameterRoles', config.includeParameterRoles, 'roles').map((role, i) =>
      checkLiteral(`includeParameterRoles[${i}]`, role, PARAMETER_ROLES),
    ),
  );
  return ({ name, role }) =>
    (roles.size === 0 || roles.has(role)) &&
    (included.length === 0 || included.some((pattern) => pattern.test(name))) &&
    !excluded.some((pattern) => pattern.test(name));
}

/** @throws {QuarkError} `invalid_input` unless it is a list of texts */
export function nameSet(field: string, given: Iterable<string> | undefined): ReadonlySet<string> {
  return new Set(
    list(field, given, 'texts').map((item, i) => {
      if (typeof item !== 'string' || item === '')
        throw invalidInput(`${field}[${i}]`, item, 'non-empty text');
      return item;
    }),
  );
}

function patterns(field: string, given: Iterable<NamePattern> | undefined): readonly RegExp[] {
  return list(field, given, 'patterns').map((item, i) => {
    if (typeof item !== 'string' && !(item instanceof RegExp))
      throw invalidInput(`${field}[${i}]`, item, 'a regular expression or its text');
    try {
      // Without the flags g and y, which make a pattern remember where it was.
      return typeof item === 'string'
        ? new RegExp(item)
        : new RegExp(item.source, item.flags.replace(/[gy]/g, ''));
    } catch (error) {
      throw invalidInput(`${field}[${i}]`, item, `a regular expression (${messageOf(error)})`);
    }
  });
}

function list<T>(field: string, given: Iterable<T> | undefined, what: string): readonly T[] {
  if (given === undefined) return [];
  // A single text is a list of its characters to JavaScript, and never what was meant.
  if (typeof given !== 'object' || given === null || !(Symbol.iterator in given))
    throw invalidInput(field, given, `a list of ${what}`);
  return [...given];
}
