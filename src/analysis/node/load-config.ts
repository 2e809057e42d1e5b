/** Finds and reads `quark.config.json` and `quark.config.mjs`. */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invalidInput, messageOf, QuarkError } from '../../base/errors.ts';
import { optional, orNull, readOptions, text } from '../../base/options.ts';
import { analyzerConfigOf, parseQuarkConfig } from '../config/quark-config.ts';
import { checkAnalyzerConfig, type AnalyzerEngineConfig } from '../evaluate/analyzer-config.ts';

/** Names of configurations, in the order they are looked for in a folder. */
const NAMES = ['quark.config.mjs', 'quark.config.json'];

/** Options of {@link loadQuarkConfig}. */
export type LoadConfigOptions = {
  /** The file, relative to `cwd`. Default: `quark.config.mjs` or else `quark.config.json`, in `cwd`, the nearest folder above, or `home`. */
  readonly file?: string | undefined;
  /** Default: the working directory of the process. */
  readonly cwd?: string | undefined;
  /** Where a file of the user lies, for what is in no project that has one. Null for none. Default: the home folder of the user. */
  readonly home?: string | null | undefined;
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
 * may have rules with functions. One file counts, with all that it says: the nearest from the working directory upwards, or else the one in
 * the home folder. Undefined where no file is named and none is found.
 *
 * A module that was found, rather than named, is run only if it belongs to the user of the process or to root, so that nobody runs what
 * others have put above a shared folder.
 *
 * @throws {QuarkError} `invalid_input` naming the file, the field, its value and the rule for it
 * @example
 * ```js
 * import { writeFile } from 'node:fs/promises';
 * import { loadQuarkConfig } from 'quark-sdk/node';
 *
 * await writeFile('quark.config.json', '{ "disabledRules": ["plateau"] }');
 * const loaded = await loadQuarkConfig();
 * console.log(loaded.path.endsWith('quark.config.json'), loaded.config.disabledRules); // true [ 'plateau' ]
 * ```
 */
export async function loadQuarkConfig(
  options: LoadConfigOptions = {},
): Promise<LoadedConfig | undefined> {
  const {
    cwd = process.cwd(),
    file,
    home,
  } = readOptions('options', options, {
    file: optional(text()),
    cwd: optional(text()),
    home: orNull(text(), homedir()),
  });
  const path = file === undefined ? findConfig(resolve(cwd), home) : resolve(cwd, file);
  if (path === undefined) return undefined;
  if (file === undefined && extname(path) === '.mjs') await checkOwner(path);
  return { path, config: extname(path) === '.mjs' ? await run(path) : await read(path) };
}

function findConfig(from: string, home: string | null): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = configIn(folder);
    if (found !== undefined) return found;
    if (folder === dirname(folder)) return home === null ? undefined : configIn(home);
  }
}

function configIn(folder: string): string | undefined {
  return NAMES.map((name) => join(folder, name)).find((path) => existsSync(path));
}

/** Refuses a module of somebody else. Windows names no owners. */
async function checkOwner(path: string): Promise<void> {
  const me = process.getuid?.();
  if (me === undefined) return;
  const { uid } = await stat(path);
  if (uid !== me && uid !== 0)
    throw invalidInput(
      path,
      `a file of user ${uid}`,
      'a file of your own or of root, as a module is run; name it to run it all the same',
    );
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
