/** `--config`: the rules, thresholds and roles of a project. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  configForRun,
  parseQuarkConfig,
  type AnalyzerEngineConfig,
  type QuarkConfig,
} from '../../analysis.ts';
import { QuarkError } from '../../index.ts';
import { loadQuarkConfig } from '../../node.ts';
import { UsageError, type OptionSpec } from './args.ts';
import type { CommandContext } from './command.ts';
import { askedRoles } from './role-options.ts';
import { onTerminal } from './text.ts';

/** The options of commands that judge runs. */
export const CONFIG_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  config: {
    kind: 'text',
    value: 'FILE',
    help: 'Rules, thresholds and roles: a quark.config.json, or a quark.config.mjs, which is run. Default: the one in this folder, the nearest above, or your home folder.',
  },
  'no-config': { kind: 'flag', help: 'Use none, also where there is one.' },
};

/**
 * By what a command judges a run that has the given metrics: by the configuration that the options name, or that is found, and by the
 * roles that the options give. Says on standard error which configuration was found.
 *
 * @throws {QuarkError} `invalid_input` naming the file, the field, its value and the rule for it
 */
export async function judging(
  context: Pick<CommandContext, 'args' | 'io'>,
): Promise<(keys: Iterable<string>) => AnalyzerEngineConfig> {
  const config = await givenConfig(context);
  const asked = askedRoles(context.args);
  return (keys) => {
    const own = configForRun(config, keys);
    return { ...own, roles: { ...own.roles, ...asked } };
  };
}

async function givenConfig({
  args,
  io,
}: Pick<CommandContext, 'args' | 'io'>): Promise<AnalyzerEngineConfig> {
  const file = args.text('config');
  if (args.flag('no-config')) {
    if (file !== undefined) throw new UsageError('Give either --config or --no-config, not both');
    return {};
  }
  const home = io.env['HOME'] || io.env['USERPROFILE'] || null;
  const loaded = await loadQuarkConfig({ cwd: io.cwd, file, home });
  if (loaded === undefined) return {};
  if (file === undefined)
    await io.stderr.write(`Judged with ${onTerminal(loaded.path)}; --no-config goes without.\n`);
  return loaded.config;
}

/** `--config` of commands that serve pages. */
export const PAGE_CONFIG_OPTION: OptionSpec = {
  kind: 'text',
  value: 'FILE',
  help: 'A quark.config.json that the pages judge runs by. Everybody who reaches the page can read it. Default: none.',
};

/**
 * The configuration that pages get: data only.
 *
 * @throws {QuarkError} `invalid_input` naming the file, the field, its value and the rule for it
 */
export async function pageConfig({
  args,
  io,
}: Pick<CommandContext, 'args' | 'io'>): Promise<{ readonly pageConfig?: QuarkConfig }> {
  const file = args.text('config');
  if (file === undefined) return {};
  let content: string;
  try {
    content = await readFile(resolve(io.cwd, file), 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new QuarkError('invalid_input', `${file} cannot be read: ${why}.`, {
      details: { field: 'config', value: file, rule: 'a quark.config.json' },
      cause,
    });
  }
  return { pageConfig: parseQuarkConfig(content, file) };
}
