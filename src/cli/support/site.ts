/** The dashboard in the package: where its files are, and serving them with a store. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isQuarkError, QuarkError, type Store } from '../../index.ts';
import { serveStore, type ServedStore, type ServeOptions } from '../../node.ts';
import type { OptionSpec } from './args.ts';
import type { CommandContext } from './command.ts';

/** Port that is tried first when none is given. */
const PREFERRED_PORT = 4747;

/** `--allow-frame`, of commands that serve the page. */
export const ALLOW_FRAME_OPTION: OptionSpec = {
  kind: 'list',
  value: 'ORIGIN',
  help: 'Let pages of this origin show a run in a frame. Default: QUARK_ALLOW_FRAME, with commas, or none.',
};

/** The options of commands that serve the dashboard. */
export const SERVE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  port: {
    kind: 'count',
    value: 'N',
    max: 65_535,
    help: `Port to listen on; 0 takes a free one. Default: ${PREFERRED_PORT}, or a free one.`,
  },
  'no-open': { kind: 'flag', help: 'Do not open the page in the browser.' },
};

/**
 * Folder of the built dashboard: beside the built command, or in `dist` when the command runs from its sources.
 *
 * @throws {QuarkError} `unsupported`
 */
export function dashboardDir(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const candidates = [join(here, 'demo'), join(here, '../../../dist/demo')];
  const found = candidates.find((dir) => existsSync(join(dir, 'index.html')));
  if (found === undefined) {
    const where = candidates[0] ?? '';
    throw new QuarkError(
      'unsupported',
      `The dashboard has not been built: ${where} is missing. In a clone of the project, run "npm run build".`,
      {
        details: { path: where },
      },
    );
  }
  return found;
}

/** Serves the store and the dashboard on the port that was asked for. */
export async function serveDashboard(
  { args }: Pick<CommandContext, 'args'>,
  store: Store,
  config: Pick<ServeOptions, 'pageConfig' | 'changes' | 'allowFrames'> = {},
): Promise<ServedStore> {
  const options = { store, dashboardDir: dashboardDir(), ...config };
  const port = args.count('port');
  if (port !== undefined) return serveStore({ ...options, port });
  try {
    return await serveStore({ ...options, port: PREFERRED_PORT });
  } catch (error) {
    // Nobody asked for this very port.
    if (isQuarkError(error) && error.details['systemCode'] === 'EADDRINUSE')
      return serveStore({ ...options, port: 0 });
    throw error;
  }
}

/** Opens the page for a person who sits at this machine and has not declined. */
export function openPage({ io, args }: Pick<CommandContext, 'io' | 'args'>, url: string): void {
  if (args.flag('no-open') || args.flag('json') || !io.stdout.isTty || (io.env['CI'] ?? '') !== '')
    return;
  io.openBrowser(url);
}

/** Origins whose pages may show a run in a frame: `--allow-frame`, else `QUARK_ALLOW_FRAME`. */
export function framesOf({ args, io }: Pick<CommandContext, 'args' | 'io'>): {
  readonly allowFrames: readonly string[];
} {
  const named = (io.env['QUARK_ALLOW_FRAME'] ?? '').split(',').map((origin) => origin.trim());
  return { allowFrames: args.list('allow-frame') ?? named.filter((origin) => origin !== '') };
}
