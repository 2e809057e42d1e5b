/** Finds and reads `quark.config.json` and `quark.config.mjs`. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invalidInput, messageOf, QuarkError } from '../../base/errors.ts';
import { optional, readOptions, text } from '../../base/options.ts';
import { analyzerConfigOf, parseQuarkConfig } from '../config/quark-config.ts';
import { checkAnalyzerConfig, type AnalyzerEngineConfig } from '../evaluate/analyzer-config.ts';

/** Names of configurations, in the order they are looked for in a folder. */
const NAMES = ['quark.config.mjs', 'quark.config.json'];

/** Options of {@link loadQuarkConfig}. */
export type LoadConfigOptions = {
  /** The file, relative to `cwd`. Default: `quark.config.mjs` or else `quark.config.json`, in `cwd` or the nearest folder above. */
  readonly file?: string | undefined;
  /** Default: the working directory of the process. */
  readonly cwd?: string | undefined;
};

/** A configuration that was found. */
export type LoadedConfig = {
  /** For `new AnalyzerEngine(session, config)`. */
  readonly config: AnalyzerEngineConfig;
  /** The file. */
  readonly path: string;
};

/**
 * Reads the configuration of a project: `quark.config.json` is data; `quark.config.mjs` is a module that is run, whose default export
 * may have rules with functions. Undefined where no file is named and none is found.
 *
 * @throws {QuarkError} `invalid_input` naming the file, the field, its value and the rule for it
 * @example
 * const loaded = await loadQuarkConfig();
 * const engine = new AnalyzerEngine(session, loaded?.config);
 */
export async function loadQuarkConfig(
  options: LoadConfigOptions = {},
): Promise<LoadedConfig | undefined> {
  const { cwd = process.cwd(), file } = readOptions('options', options, {
    file: optional(text()),
    cwd: optional(text()),
  });
  const path = file === undefined ? findConfig(resolve(cwd)) : resolve(cwd, file);
  if (path === undefined) return undefined;
  return { path, config: extname(path) === '.mjs' ? await run(path) : await read(path) };
}

function findConfig(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = NAMES.map((name) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined || folder === dirname(folder)) return found;
  }
}

async function read(path: string): Promise<AnalyzerEngineConfig> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (cause) {
    throw unreadable(path, cause);
  }
  return analyzerConfigOf(parseQuarkConfig(content, path));
}

async function run(path: string): Promise<AnalyzerEngineConfig> {
  let module: { readonly default?: AnalyzerEngineConfig };
  try {
    module = await import(/* @vite-ignore */ pathToFileURL(path).href);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const { default: config } = module;
  if (typeof config !== 'object' || config === null)
    throw invalidInput(path, config, 'a module whose default export is a configuration');
  checkAnalyzerConfig(config, path);
  return config;
}

function unreadable(path: string, cause: unknown): QuarkError {
  return new QuarkError('invalid_input', `${path} cannot be read: ${messageOf(cause)}.`, {
    details: { field: 'file', value: path, rule: 'a quark.config.json or quark.config.mjs' },
    cause,
  });
}
