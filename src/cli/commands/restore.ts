/** `quark restore`: a store again, of a backup. */
import { resolve } from 'node:path';
import { restoreBackup, type RestoreReport } from '../../node.ts';
import { EXIT, JSON_OPTION, jsonText, type Command } from '../support/command.ts';
import { byteText, counted, localTime, onTerminal } from '../support/text.ts';

export const restoreCommand: Command = {
  spec: {
    name: 'restore',
    summary: 'Restore a store from a backup into a folder.',
    positionals: ['BACKUP', 'DIR'],
    options: {
      snapshot: {
        kind: 'text',
        value: 'ID',
        help: 'The snapshot to restore. Default: the newest.',
      },
      replace: {
        kind: 'flag',
        help: 'Move a store that is in DIR aside, to .quark-replaced-TIME. Nobody may be using it.',
      },
      tombstones: {
        kind: 'list',
        value: 'FILE',
        help: 'What else was deleted, beside the tombstones of the backup and of a replaced store.',
      },
      json: JSON_OPTION,
    },
    notes: [
      'Every byte is compared with its hash while it is copied, and SQLite checks the database. The store appears in DIR/.quark as a whole or not at all.',
      'Runs that were deleted after the snapshot stay deleted. Clients compare what they have with the restored store, and send again what it lacks.',
    ],
  },
  async run({ args, io }) {
    const [backup = '', dir = ''] = args.positionals;
    const report = await restoreBackup(resolve(io.cwd, backup), resolve(io.cwd, dir), {
      snapshotId: args.text('snapshot'),
      replaces: args.flag('replace'),
      tombstones: (args.list('tombstones') ?? []).map((file) => resolve(io.cwd, file)),
    });
    await io.stdout.write(args.flag('json') ? jsonText(reportJson(report)) : describe(report));
    if (report.isOldUnreadable)
      await io.stderr.write(
        'warning: the replaced store is damaged, so what was deleted in it since the last backup is not known. Delete it again where that matters.\n',
      );
    for (const sha256 of report.lostBlobs)
      await io.stderr.write(
        `warning: the backup has no bytes of blob ${sha256}: they were missing when it was made.\n`,
      );
    return EXIT.ok;
  },
};

function describe(report: RestoreReport): string {
  const { blobCount, databaseBytes, deletedRunIds, madeAtMs, path, replacedPath, snapshotId } =
    report;
  const lines = [
    `Restored ${snapshotId}, of ${localTime(new Date(madeAtMs).toISOString())}, into ${onTerminal(path)}: a database of ${byteText(databaseBytes)}, ${counted(blobCount, 'blob')} beside it.\n`,
  ];
  if (deletedRunIds.length > 0)
    lines.push(
      `Deleted since then, and not restored: ${counted(deletedRunIds.length, 'run')}. "quark runs --deleted" lists them.\n`,
    );
  if (report.deletedRows > 0)
    lines.push(
      `Deleted since then of tables, artifacts and metrics, and again: ${counted(report.deletedRows, 'row')}.\n`,
    );
  if (replacedPath !== null)
    lines.push(`The store that was there is in ${onTerminal(replacedPath)}.\n`);
  return lines.join('');
}

function reportJson(report: RestoreReport): object {
  return {
    snapshot_id: report.snapshotId,
    made_at: new Date(report.madeAtMs).toISOString(),
    path: report.path,
    database_bytes: report.databaseBytes,
    blob_count: report.blobCount,
    lost_blobs: report.lostBlobs,
    deleted_run_ids: report.deletedRunIds,
    deleted_rows: report.deletedRows,
    replaced_path: report.replacedPath,
    is_old_unreadable: report.isOldUnreadable,
  };
}
