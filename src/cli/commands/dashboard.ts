/** `quark dashboard`: the page over the runs of a store. */
import { withAuditedStore } from '../support/audited-store.ts';
import { EXIT, JSON_OPTION, STORAGE_OPTIONS, withStore, type Command } from '../support/command.ts';
import { PAGE_CONFIG_OPTION, pageConfig } from '../support/config.ts';
import {
  ALLOW_FRAME_OPTION,
  framesOf,
  openPage,
  SERVE_OPTIONS,
  serveDashboard,
} from '../support/site.ts';

export const dashboardCommand: Command = {
  spec: {
    name: 'dashboard',
    summary: 'Show the runs in the browser.',
    positionals: [],
    options: {
      ...STORAGE_OPTIONS,
      ...SERVE_OPTIONS,
      config: PAGE_CONFIG_OPTION,
      'allow-frame': ALLOW_FRAME_OPTION,
      'read-only': { kind: 'flag', help: 'Let nobody change a run.' },
      json: { ...JSON_OPTION, help: 'Write the address as JSON; errors, too.' },
    },
    notes: [
      'The page is served on 127.0.0.1 only. A browser that opened the address with the token can name, tag, archive and delete runs; without the token the page only reads. Ctrl-C stops it.',
    ],
  },
  run: ({ io, args }) =>
    (args.flag('read-only') ? withStore : withAuditedStore)({ io, args }, async (store) => {
      const server = await serveDashboard({ args }, store, {
        ...(await pageConfig({ args, io })),
        changes: !args.flag('read-only'),
        ...framesOf({ args, io }),
      });
      const interrupted = new Promise<void>((resolve) => {
        const undo = io.onInterrupt(() => {
          undo();
          resolve();
        });
      });
      try {
        const text = args.flag('json')
          ? `${JSON.stringify({ event: 'serving', url: server.url, port: server.port, change_url: server.changeUrl })}\n`
          : `Dashboard: ${server.changeUrl}\nRuns: ${store.location.storageDir}\nPress Ctrl-C to stop.\n`;
        await io.stdout.write(text);
        openPage({ io, args }, server.changeUrl);
        await interrupted;
      } finally {
        await server.close();
      }
      return EXIT.ok;
    }),
};
