/** `quark watch RUN`: how far a run is, its last values, and its alerts as they come. */
import { AnalyzerEngine } from '../../analysis.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import { JsonView, ProgressView } from '../support/progress-view.ts';
import { untilEnded } from '../support/until-ended.ts';

const POLL_MS = 2000;

export const watchCommand: Command = {
  spec: {
    name: 'watch',
    summary: 'Show how far a run is, its last values and its alerts, while another process trains.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      ...CONFIG_OPTIONS,
      json: {
        ...JSON_OPTION,
        help: 'Write a JSON line for each alert, and one with "progress" and "values" where these are new; errors, too.',
      },
    },
    notes: [
      'Nothing is stored. It ends when the run has ended, or with Ctrl-C.',
      'The time that is left is known where the program says how long it trains: session.setTotal(), or quarkCallback by itself.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io, style } = context;
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const config = (await judging(context))(await reader.metricKeys());
      const view = args.flag('json')
        ? new JsonView(io, reader)
        : new ProgressView(io, reader, style);
      const writes: Promise<void>[] = [];
      const watch = new AnalyzerEngine(reader, config).watch({
        persist: false,
        pollMs: POLL_MS,
        onAlert: (alert) => void writes.push(view.alert(alert)),
      });
      try {
        await untilEnded(io, reader, async () => {
          await watch.check();
          await view.update();
        });
      } finally {
        await watch.close();
        await Promise.all(writes);
        await view.end();
      }
      const { lastError } = watch.status;
      if (lastError !== null && watch.status.evaluations === 0) throw lastError;
      return EXIT.ok;
    }),
};
