/** `quark backup`: copies of a store that is in use; and the list, the check and the pruning of them. */
import { resolve } from 'node:path';
import { SessionStoreError } from '../../index.ts';
import {
  backupStore,
  backupTombstones,
  listBackups,
  pruneBackup,
  verifyBackup,
  type BackupReport,
  type BackupSummary,
  type BackupVerification,
} from '../../node.ts';
import { s3OptionsFromEnvironment } from '../../service.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { serviceStorage } from '../support/service-storage.ts';
import { byteText, counted, localTime, onTerminal, table } from '../support/text.ts';

const ACTIONS = ['list', 'verify', 'prune', 'tombstones'] as const;

export const backupCommand: Command = {
  spec: {
    name: 'backup',
    summary: 'Back up the store of a folder while it is in use; list, verify and prune backups.',
    positionals: [`DEST|${ACTIONS.join('|')}`, '[DEST]'],
    options: {
      'storage-dir': STORAGE_OPTIONS['storage-dir'] ?? { kind: 'text', help: '' },
      storage: {
        kind: 'text',
        value: 'URI',
        help: 'The same as a file: URI. Default: QUARK_STORAGE.',
      },
      verify: {
        kind: 'flag',
        help: 'Read back all that the snapshot names, also what was there, and check its database.',
      },
      keep: {
        kind: 'count',
        value: 'N',
        help: 'Snapshots that stay; older ones are removed. Default: all.',
      },
      snapshot: { kind: 'text', value: 'ID', help: 'The snapshot to verify. Default: all.' },
      json: JSON_OPTION,
    },
    notes: [
      '"quark backup DEST" adds a snapshot to the folder DEST. Only what DEST does not have is written, and read back.',
      '"quark backup list DEST" shows the snapshots, "verify DEST" reads them all back, "prune DEST --keep N" removes old ones, "tombstones DEST" writes down what was deleted and nothing else.',
      'A folder that is named like one of these is written ./list. The database of a service in PostgreSQL, and a bucket, are backed up with their own tools: docs/operations.md.',
      'The exit code is 1 when something is damaged.',
    ],
  },
  async run(context) {
    const [first = '', second] = context.args.positionals;
    const action = ACTIONS.find((known) => known === first);
    if (action === undefined) {
      if (second !== undefined)
        throw new UsageError(`"quark backup" can ${ACTIONS.join(', ')}; got "${first}"`, 'backup');
      return make(context, resolve(context.io.cwd, first));
    }
    if (second === undefined)
      throw new UsageError(`"quark backup ${action}" needs the folder of a backup`, 'backup');
    const destination = resolve(context.io.cwd, second);
    if (action === 'list') return list(context, destination);
    if (action === 'verify') return verify(context, destination);
    if (action === 'prune') return prune(context, destination);
    return tombstones(context, destination);
  },
};

async function make(context: CommandContext, destination: string): Promise<number> {
  const { args, io } = context;
  const stopped = new AbortController();
  const undo = io.onInterrupt(() => stopped.abort());
  const isAll = args.flag('verify');
  try {
    const report = await backupStore(folderOf(context), destination, {
      verifiesAll: isAll,
      keep: args.count('keep'),
      hasBucket: s3OptionsFromEnvironment(io.env) !== undefined,
      signal: stopped.signal,
    });
    const verified = isAll ? await verifyBackup(destination, report.snapshotId) : undefined;
    const isWhole = report.lostBlobs.length === 0 && (verified?.problems ?? []).length === 0;
    if (args.flag('json'))
      await io.stdout.write(
        jsonText({ ...backupJson(report), ...(verified && verificationJson(verified)) }),
      );
    else {
      await io.stdout.write(describe(report, verified));
      await writeLost(context, report.lostBlobs);
    }
    return isWhole ? EXIT.ok : EXIT.failure;
  } finally {
    undo();
  }
}

async function list(context: CommandContext, destination: string): Promise<number> {
  const { args, io, style } = context;
  const { snapshots, unreadable } = await listBackups(destination);
  if (args.flag('json'))
    await io.stdout.write(
      jsonText({ snapshots: snapshots.map(summaryJson), unreadable: unreadable.map(plainJson) }),
    );
  else {
    await io.stdout.write(
      table<BackupSummary>(
        [
          { title: 'SNAPSHOT', cell: ({ snapshotId }) => snapshotId },
          { title: 'OF', cell: ({ madeAtMs }) => localTime(new Date(madeAtMs).toISOString()) },
          { title: 'RUNS', cell: ({ runCount }) => String(runCount), align: 'right' },
          { title: 'DATABASE', cell: (one) => byteText(one.databaseBytes), align: 'right' },
          { title: 'BLOBS', cell: (one) => byteText(one.blobBytes), align: 'right' },
          { title: 'STORE', cell: ({ source }) => source, isElastic: true },
        ],
        snapshots,
        io.stdout.columns,
        style,
      ),
    );
    for (const { reason } of unreadable) await io.stderr.write(`${onTerminal(reason)}\n`);
  }
  return unreadable.length === 0 ? EXIT.ok : EXIT.failure;
}

async function verify(context: CommandContext, destination: string): Promise<number> {
  const { args, io } = context;
  const verified = await verifyBackup(destination, args.text('snapshot'));
  if (args.flag('json')) await io.stdout.write(jsonText(verificationJson(verified)));
  else await io.stdout.write(verifiedText(verified));
  return verified.problems.length === 0 ? EXIT.ok : EXIT.failure;
}

async function prune(context: CommandContext, destination: string): Promise<number> {
  const { args, io } = context;
  const keep = args.count('keep');
  if (keep === undefined || keep < 1)
    throw new UsageError(
      '"quark backup prune" needs --keep N, the snapshots that stay, at least 1',
      'backup',
    );
  const removed = await pruneBackup(destination, keep);
  await io.stdout.write(
    args.flag('json')
      ? jsonText({ removed })
      : `${counted(removed.length, 'snapshot')} removed${removed.length === 0 ? '' : `: ${removed.join(', ')}`}.\n`,
  );
  return EXIT.ok;
}

async function tombstones(context: CommandContext, destination: string): Promise<number> {
  const count = await backupTombstones(folderOf(context), destination);
  await context.io.stdout.write(
    context.args.flag('json')
      ? jsonText({ tombstones: count })
      : `${counted(count, 'tombstone')} in ${onTerminal(destination)}.\n`,
  );
  return EXIT.ok;
}

/** The folder of the store. @throws {SessionStoreError} `unknown_scheme` for a store that is not in a folder */
function folderOf(context: CommandContext): string {
  const storage = serviceStorage(context, context.args.text('storage-dir'));
  if (!/^(?!file:)[a-z][a-z0-9+.-]+:/i.test(storage)) return storage;
  throw new SessionStoreError(
    'unknown_scheme',
    `"quark backup" copies stores in folders; got ${storage.replace(/:.*/s, ':...')}. Back up PostgreSQL and buckets with their own tools: docs/operations.md says in which order.`,
  );
}

async function writeLost({ io }: CommandContext, lost: readonly string[]): Promise<void> {
  for (const sha256 of lost)
    await io.stderr.write(
      `warning: the bytes of blob ${sha256} are missing or damaged in the store, so the backup has none. "quark doctor" says which artifacts name it.\n`,
    );
}

function describe(report: BackupReport, verified: BackupVerification | undefined): string {
  const { blobCount, databaseBytes, path, removedSnapshots, runCount, snapshotId, writtenBytes } =
    report;
  const lines = [
    `Snapshot ${snapshotId} in ${onTerminal(path)}: ${counted(runCount, 'run')}, a database of ${byteText(databaseBytes)}, ${counted(blobCount, 'blob')} beside it; ${byteText(writtenBytes)} written and read back.\n`,
  ];
  if (removedSnapshots.length > 0)
    lines.push(`${counted(removedSnapshots.length, 'snapshot')} removed.\n`);
  if (verified !== undefined) lines.push(verifiedText(verified));
  return lines.join('');
}

function verifiedText({
  blobCount,
  chunkCount,
  problems,
  readBytes,
  snapshotIds,
}: BackupVerification): string {
  const lines = problems.map(
    ({ reason, snapshotIds: ids }) => `${onTerminal(reason)} (${ids.join(', ')})\n`,
  );
  lines.push(
    `${counted(snapshotIds.length, 'snapshot')}, ${counted(chunkCount, 'chunk')} and ${counted(blobCount, 'blob')} read back (${byteText(readBytes)}): ${problems.length === 0 ? 'all whole' : counted(problems.length, 'problem')}.\n`,
  );
  return lines.join('');
}

function backupJson(report: BackupReport): object {
  return {
    snapshot_id: report.snapshotId,
    path: report.path,
    run_count: report.runCount,
    segment_count: report.segmentCount,
    database_bytes: report.databaseBytes,
    blob_count: report.blobCount,
    written_bytes: report.writtenBytes,
    lost_blobs: report.lostBlobs,
    removed_snapshots: report.removedSnapshots,
  };
}

function summaryJson(summary: BackupSummary): object {
  return {
    snapshot_id: summary.snapshotId,
    made_at: new Date(summary.madeAtMs).toISOString(),
    source: summary.source,
    made_by: summary.madeBy,
    layout: summary.layout,
    run_count: summary.runCount,
    segment_count: summary.segmentCount,
    database_bytes: summary.databaseBytes,
    blob_count: summary.blobCount,
    blob_bytes: summary.blobBytes,
    lost_blobs: summary.lostBlobs,
  };
}

function plainJson(unreadable: { readonly snapshotId: string; readonly reason: string }): object {
  return { snapshot_id: unreadable.snapshotId, reason: unreadable.reason };
}

function verificationJson(verified: BackupVerification): object {
  return {
    snapshot_ids: verified.snapshotIds,
    chunk_count: verified.chunkCount,
    blob_count: verified.blobCount,
    read_bytes: verified.readBytes,
    problems: verified.problems.map(({ kind, name, reason, snapshotIds }) => ({
      kind,
      name,
      snapshot_ids: snapshotIds,
      reason,
    })),
  };
}
