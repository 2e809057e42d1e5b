/** `quark sync`: sends what an old process has left to the service. */
import type { SyncStatus } from '../../index.ts';
import { useText } from '../support/amounts.ts';
import { nodePlatform, openSync, type SyncTask } from '../../node.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import type { CliIo } from '../support/io.ts';
import { SERVICE_OPTION, serviceOptions } from '../support/service-options.ts';
import { counted, onTerminal } from '../support/text.ts';

const SHOW_EVERY_MS = 1000;

export const syncCommand: Command = {
  spec: {
    name: 'sync',
    summary: 'Send runs that have not reached the service yet.',
    positionals: [],
    options: {
      ...STORAGE_OPTIONS,
      url: SERVICE_OPTION,
      all: { kind: 'flag', help: 'Send runs too that were recorded without a service.' },
      again: {
        kind: 'flag',
        help: 'Send everything again, whatever was acknowledged. Nothing arrives twice.',
      },
      watch: { kind: 'flag', help: 'Go on until stopped: send what is recorded meanwhile.' },
      json: JSON_OPTION,
    },
    notes: [
      'The key of the service is read from QUARK_USER_KEY.',
      'Without --watch it ends once everything has arrived (0), or the service is away or refuses (1).',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io } = context;
      const tasks = await openSync(store, {
        ...serviceOptions(context),
        includesAll: args.flag('all'),
        startsOver: args.flag('again'),
        holderTag: nodePlatform.holderTag,
      });
      try {
        if (tasks.length === 0) {
          const { persistenceUrl } = serviceOptions(context);
          await io.stderr.write(
            typeof persistenceUrl === 'string'
              ? `No run here was recorded for ${onTerminal(persistenceUrl)}. Add --all to send the runs there all the same.\n`
              : 'No run here was recorded for a service. Name one with --url, and add --all to send the runs.\n',
          );
          return EXIT.failure;
        }
        return await sendAll(context, tasks);
      } finally {
        for (const { outbox } of tasks) await outbox.close();
      }
    }),
};

async function sendAll({ args, io }: CommandContext, tasks: readonly SyncTask[]): Promise<number> {
  const stopped = new AbortController();
  const undo = io.onInterrupt(() => stopped.abort());
  const ended: object[] = [];
  let isDone = true;
  try {
    for (const task of tasks) {
      const status = await follow(io, task, args.flag('watch'), stopped.signal);
      ended.push({ ...task.target, ...status });
      const { refusedRuns = [], refusedSegments } = status;
      isDone &&=
        status.pendingRuns === 0 && refusedSegments.length === 0 && refusedRuns.length === 0;
      if (!args.flag('json')) await io.stdout.write(`${describe(task, status)}\n`);
      for (const runId of status.deletedRuns ?? [])
        await io.stderr.write(
          `deleted: ${runId} was deleted at the service and is not sent any more. "quark undelete ${runId} --storage ${onTerminal(task.target.uri)}" brings it back there, "quark rm ${runId}${sourceOptions(args)}" removes the copy here.\n`,
        );
      for (const { message, runId } of refusedRuns)
        await io.stderr.write(`${onTerminal(`refused: ${runId}: ${message}`)}\n`);
      for (const { rows, runId, table } of status.lostRows)
        await io.stderr.write(
          `${onTerminal(`lost: ${runId}/${table}: ${counted(rows, 'row')} that the service had acknowledged, missing there and here`)}\n`,
        );
      for (const { batchNumber, message, runId, table, writerId } of status.refusedSegments)
        await io.stderr.write(
          `${onTerminal(`refused: ${runId}/${table}/${writerId}/${batchNumber}: ${message}`)}\n`,
        );
    }
  } finally {
    undo();
  }
  if (args.flag('json')) await io.stdout.write(jsonText(ended));
  return isDone ? EXIT.ok : EXIT.failure;
}

/** The options by which another command finds the same store. */
function sourceOptions(args: CommandContext['args']): string {
  return (['storage-dir', 'storage'] as const)
    .flatMap((name) => {
      const given = args.text(name);
      return given === undefined ? [] : [` --${name} ${onTerminal(given)}`];
    })
    .join('');
}

/** Waits, and shows on a terminal how far it is. */
async function follow(
  io: CliIo,
  task: SyncTask,
  isWatching: boolean,
  signal: AbortSignal,
): Promise<SyncStatus> {
  const { sync } = task.outbox;
  // Another process that sends at the same moment does the same; a service that is away is told of below.
  await task.compare().catch(() => undefined);
  for (;;) {
    const status =
      (await sync?.synced({
        timeoutMs: SHOW_EVERY_MS,
        onlyWhileReachable: !isWatching,
      })) ?? (await task.status());
    if (signal.aborted) return status;
    if (!isWatching && (status.pendingRuns === 0 || status.state !== 'uploading')) return status;
    if (io.stderr.isTty && status.pendingRuns > 0)
      await io.stderr.write(`${describe(task, status)}\n`);
    if (isWatching && status.pendingRuns === 0) await pause(SHOW_EVERY_MS, signal);
  }
}

function describe({ target }: SyncTask, status: SyncStatus): string {
  const { acknowledgedRows, lastError, pendingBytes, pendingRows, pendingRuns } = status;
  const where = `${target.uri} (${target.space})`;
  const near = (status.nearQuotas ?? [])
    .map(({ resource, used, limit }) => ` Quota: ${useText(resource, used, limit)} used.`)
    .join('');
  const aside = (status.deletedRuns?.length ?? 0) + (status.refusedRuns?.length ?? 0);
  if (pendingRuns === 0 && aside > 0)
    return `${where}: ${counted(aside, 'run')} not sent, everything else is there, ${counted(acknowledgedRows, 'row')} acknowledged.${near}`;
  if (pendingRuns === 0)
    return `${where}: all sent, ${counted(acknowledgedRows, 'row')} acknowledged.${near}`;
  const rest = `${counted(pendingRuns, 'run')} with ${counted(pendingRows, 'row')} (${counted(pendingBytes, 'byte')}) to send`;
  const why = lastError === null ? '' : ` ${lastError.reason}: ${onTerminal(lastError.message)}`;
  return `${where}: ${rest}; ${status.state}.${why}${near}`;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
