/** `quark artifacts RUN`: which artifacts a run has, by their keys. */
import { describeDamage, type ArtifactRecord } from '../../index.ts';
import { readArtifacts } from '../../probes.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
} from '../support/command.ts';
import { byteText, localTime, onTerminal, table, type Style } from '../support/text.ts';

export const artifactsCommand: Command = {
  spec: {
    name: 'artifacts',
    summary: 'List the artifacts of a run: their keys, types and sizes.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      key: { kind: 'text', value: 'KEY', help: 'Only artifacts with this key.' },
      type: { kind: 'list', value: 'TYPE', help: 'Only artifacts of this type.' },
      json: JSON_OPTION,
    },
    notes: ['"quark rm RUN --artifact KEY" deletes an artifact, by its key or its id.'],
  },
  run: ({ io, args, style }) =>
    withStore({ io, args }, async (store) => {
      const { run } = await findRunByPrefix(store, args.positionals[0] ?? '');
      const key = args.text('key');
      const types = args.list('type');
      const { damage, records } = await readArtifacts(
        { store, runId: run.id },
        {
          ...(key === undefined ? {} : { artifactKey: key }),
          ...(types === undefined ? {} : { artifactTypes: types }),
        },
      );
      if (args.flag('json'))
        await io.stdout.write(jsonText(records.map((record) => record.toDict())));
      else if (records.length === 0) await io.stderr.write('No artifacts.\n');
      else await io.stdout.write(artifactTable(records, io.stdout.columns, style));
      for (const report of damage)
        await io.stderr.write(`warning: ${onTerminal(describeDamage(report))}\n`);
      return EXIT.ok;
    }),
};

function artifactTable(
  records: readonly ArtifactRecord[],
  width: number | undefined,
  style: Style,
): string {
  return table<ArtifactRecord>(
    [
      { title: 'KEY', cell: ({ artifactKey }) => artifactKey, isElastic: true },
      { title: 'TYPE', cell: ({ artifactType }) => artifactType },
      { title: 'STEP', cell: ({ step }) => (step === null ? '' : String(step)), align: 'right' },
      { title: 'SIZE', cell: ({ sizeBytes }) => byteText(sizeBytes), align: 'right' },
      { title: 'STORED', cell: ({ timestamp }) => localTime(timestamp) },
      { title: 'ID', cell: ({ id }) => id },
    ],
    records,
    width,
    style,
  );
}
