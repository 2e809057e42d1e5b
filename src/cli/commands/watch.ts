/** `quark watch RUN`: the rules over a run that goes on in another process. */
import { AnalyzerEngine, type AlertWatch } from '../../analysis.ts';
import type { AlertRecord, RunReader } from '../../index.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import { CONFIG_OPTIONS, givenConfig } from '../support/config.ts';
import type { CliIo } from '../support/io.ts';
import { onTerminal, type Style } from '../support/text.ts';
import { severityColor } from './analyze.ts';

const POLL_MS = 2000;

export const watchCommand: Command = {
  spec: {
    name: 'watch',
    summary: 'Show the alerts of a run while it goes on in another process.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      ...CONFIG_OPTIONS,
      json: { ...JSON_OPTION, help: 'Write a JSON line for each alert; errors, too.' },
    },
    notes: ['Nothing is stored. It ends when the run has ended, or with Ctrl-C.'],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io, style } = context;
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const config = await givenConfig(context);
      const writes: Promise<void>[] = [];
      const watch = new AnalyzerEngine(reader, config).watch({
        persist: false,
        pollMs: POLL_MS,
        onAlert: (alert) => {
          const text = args.flag('json')
            ? `${JSON.stringify(alert.toDict())}\n`
            : textOf(alert, style);
          writes.push(io.stdout.write(text));
        },
      });
      try {
        await untilEnded(io, reader, watch);
      } finally {
        await watch.close();
        await Promise.all(writes);
      }
      const { lastError } = watch.status;
      if (lastError !== null && watch.status.evaluations === 0) throw lastError;
      return EXIT.ok;
    }),
};

function textOf({ fact, inference, ruleId, severity, title }: AlertRecord, style: Style): string {
  return `${severityColor(style, severity)(severity)} ${style.bold(onTerminal(title))} (${onTerminal(ruleId)})\n  ${onTerminal(fact)}\n  ${onTerminal(inference)}\n`;
}

/** Until the run has ended or nobody records it any more, or Ctrl-C. */
async function untilEnded(io: CliIo, reader: RunReader, watch: AlertWatch): Promise<void> {
  const over = new AbortController();
  let wake = (): void => undefined;
  const undo = io.onInterrupt(() => {
    over.abort();
    wake();
  });
  try {
    while (!over.signal.aborted) {
      await watch.check();
      await reader.reload();
      if (!reader.isLive) return;
      if (over.signal.aborted) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, POLL_MS);
      });
    }
  } finally {
    undo();
  }
}
