/** `quark verify RUN`: whether the service has what is here. */
import { QuarkError } from '../../index.ts';
import { verifySync, type ServiceVerification } from '../../node.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import { SERVICE_OPTION, serviceOptions } from '../support/service-options.ts';
import { counted, onTerminal, table, type Style } from '../support/text.ts';

type Line = ServiceVerification['tables'][number];

export const verifyCommand: Command = {
  spec: {
    name: 'verify',
    summary: 'Compare a run here with the service: rows and checksums of every table.',
    positionals: ['RUN'],
    options: { ...STORAGE_OPTIONS, url: SERVICE_OPTION, json: JSON_OPTION },
    notes: [
      'Checksums are of the rows, not of the bytes: merged segments compare equal to those they were made of.',
      'The exit code is 1 when the two differ.',
    ],
  },
  run: (context) =>
    withStore(context, async (store) => {
      const { args, io, style } = context;
      const { run } = await findRunByPrefix(store, args.positionals[0] ?? '');
      const results = await verifySync(store, run.id, serviceOptions(context));
      if (results.length === 0)
        throw new QuarkError(
          'invalid_input',
          `Run ${run.id} was not recorded for a service. Name one with --url.`,
          { details: { field: 'url', rule: 'the address of a service' } },
        );
      if (args.flag('json')) await io.stdout.write(jsonText(results));
      else
        for (const result of results)
          await io.stdout.write(describe(result, io.stdout.columns, style));
      return results.every(({ isEqual }) => isEqual) ? EXIT.ok : EXIT.failure;
    }),
};

function describe(result: ServiceVerification, width: number | undefined, style: Style): string {
  const { isEqual, isPartial, isRunEqual, runId, tables, target } = result;
  const verdict = isEqual ? style.green('the same on both sides') : style.red('different');
  const lines = [`${runId} and ${onTerminal(target.uri)} (${target.space}): ${verdict}\n`];
  if (isPartial)
    lines.push(
      'The run was taken over from the service: only what was recorded here is compared.\n',
    );
  if (!isRunEqual) lines.push('The run itself differs: its status, tags or configuration.\n');
  lines.push(
    table<Line>(
      [
        { title: 'TABLE', cell: (line) => line.table },
        { title: 'ROWS HERE', cell: ({ local }) => String(local.rows), align: 'right' },
        { title: 'ROWS THERE', cell: ({ remote }) => String(remote.rows), align: 'right' },
        { title: 'CHECKSUM HERE', cell: ({ local }) => local.checksum },
        { title: 'CHECKSUM THERE', cell: ({ remote }) => remote.checksum },
        { title: '', cell: (line) => (line.isEqual ? 'same' : 'differs') },
      ],
      tables,
      width,
      style,
    ),
  );
  for (const { local, missingLocal, missingRemote, remote, table: name } of tables) {
    if (missingRemote.length > 0) lines.push(`${name}: not there: ${shown(missingRemote)}\n`);
    if (missingLocal.length > 0) lines.push(`${name}: only there: ${shown(missingLocal)}\n`);
    if (local.deletedRows !== undefined) lines.push(`${name}: ${gone(local)} here\n`);
    if (remote.deletedRows !== undefined) lines.push(`${name}: ${gone(remote)} there\n`);
    for (const reason of local.damage) lines.push(`${name}: damaged here: ${onTerminal(reason)}\n`);
    for (const reason of remote.damage)
      lines.push(`${name}: damaged there: ${onTerminal(reason)}\n`);
  }
  return lines.join('');
}

function gone({ deletedRows: rows = 0, downsampledTo }: Line['local']): string {
  const were = `${counted(rows, 'row')} ${rows === 1 ? 'was' : 'were'}`;
  return downsampledTo === undefined
    ? `${were} deleted`
    : `downsampled to ${counted(downsampledTo, 'point')} a metric, ${were} taken away`;
}

const MAX_SHOWN = 10;

function shown(names: readonly string[]): string {
  const rest = names.length - MAX_SHOWN;
  return `${names.slice(0, MAX_SHOWN).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
