/** `quark gc`: removes payloads that no artifact names any more. */
import { DEFAULT_KEEP_UNNAMED_MS, sweepBlobs } from '../../index.ts';
import { EXIT, JSON_OPTION, jsonText, STORAGE_OPTIONS, type Command } from '../support/command.ts';
import { recorded, withAuditedStore } from '../support/audited-store.ts';
import { daysMs } from '../support/durations.ts';
import { byteText, counted } from '../support/text.ts';

const DEFAULT_DAYS = DEFAULT_KEEP_UNNAMED_MS / daysMs(1);

export const gcCommand: Command = {
  spec: {
    name: 'gc',
    summary: 'Remove payloads that no artifact names any more.',
    positionals: [],
    options: {
      ...STORAGE_OPTIONS,
      'dry-run': { kind: 'flag', help: 'Only say what would be removed.' },
      days: {
        kind: 'count',
        value: 'N',
        help: `Leave alone what was stored within so many days. Default: ${DEFAULT_DAYS}.`,
      },
      json: JSON_OPTION,
    },
    notes: [
      'Runs that are deleted and can be restored count as runs: what they name stays.',
      'It may run while runs are recorded. A service does this by itself, for all of its spaces.',
    ],
  },
  run: (context) =>
    withAuditedStore(context, async (store, record) => {
      const { args, io } = context;
      const dryRun = args.flag('dry-run');
      const keepMs = daysMs(args.count('days') ?? DEFAULT_DAYS);
      const sweep = () => sweepBlobs(store, { keepMs, dryRun });
      const act = {
        action: 'blob.sweep',
        target: { kind: 'space', id: 'default' },
        detail: { keep_ms: keepMs },
      } as const;
      const report = await (dryRun ? sweep() : recorded(record, act, sweep));
      if (!dryRun && report.blobs + report.looseFiles > 0) await store.reclaimSpace();
      const { blobs, bytes, isDone, looseBytes, looseFiles, named } = report;
      if (args.flag('json'))
        await io.stdout.write(
          jsonText({
            blobs,
            bytes,
            named,
            loose_files: looseFiles,
            loose_bytes: looseBytes,
            is_done: isDone,
          }),
        );
      else
        await io.stdout.write(
          `${isDone ? 'Removed' : 'Would remove'} ${counted(blobs, 'blob')}, ${byteText(bytes)}${looseFiles === 0 ? '' : `, and ${counted(looseFiles, 'file')} of no row, ${byteText(looseBytes)}`}. Artifacts name ${counted(named, 'blob')}.\n`,
        );
      return EXIT.ok;
    }),
};
