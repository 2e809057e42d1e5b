/** `quark artifacts RUN`: which artifacts a run has, by their keys, and what is in them. */
import { describeDamage, type ArtifactRecord } from '../../index.ts';
import { loadArtifact, readArtifacts, streamArtifact } from '../../probes.ts';
import type { RunReader } from '../../index.ts';
import { UsageError } from '../support/args.ts';
import { artifactContent, artifactDetail, artifactPath } from '../support/artifact-text.ts';
import { OutputFolder } from '../support/output-folder.ts';
import { resolve } from 'node:path';
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
    summary: 'List the artifacts of a run, show what is in them, or save them.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      key: { kind: 'text', value: 'KEY', help: 'Only artifacts with this key.' },
      type: { kind: 'list', value: 'TYPE', help: 'Only artifacts of this type.' },
      show: { kind: 'flag', help: 'Show the content of texts and of what is JSON.' },
      save: { kind: 'text', value: 'DIR', help: 'Write the content of each into a folder.' },
      force: { kind: 'flag', help: 'With --save: overwrite files.' },
      json: JSON_OPTION,
    },
    notes: [
      'Lines that a program printed are artifacts, too: "quark console RUN" shows them.',
      '"quark rm RUN --artifact KEY" deletes an artifact, by its key or its id.',
    ],
  },
  run: ({ io, args, style }) =>
    withStore({ io, args }, async (store) => {
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const { run } = reader;
      const folder = args.text('save');
      if (args.flag('force') && folder === undefined)
        throw new UsageError('--force is for --save', 'artifacts');
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
      else if (folder !== undefined) {
        const saved = await save(reader, records, resolve(io.cwd, folder), args.flag('force'));
        await io.stdout.write(saved.map((path) => `${onTerminal(path)}\n`).join(''));
      } else if (args.flag('show'))
        for (const record of records) await io.stdout.write(await shown(reader, record, style));
      else await io.stdout.write(artifactTable(records, io.stdout.columns, style));
      for (const report of damage)
        await io.stderr.write(`warning: ${onTerminal(describeDamage(report))}\n`);
      return EXIT.ok;
    }),
};

/** Longer content is saved, not shown. */
const MAX_SHOWN_BYTES = 1 << 20;

async function shown(reader: RunReader, record: ArtifactRecord, style: Style): Promise<string> {
  const { artifactKey, artifactType, sizeBytes, step } = record;
  const at = step === null ? '' : ` at step ${step}`;
  const head = `${style.bold(`${onTerminal(artifactKey)}${at}`)} (${artifactType})`;
  const isShort = sizeBytes <= MAX_SHOWN_BYTES && record.payloadFormat !== 'bytes';
  const content = isShort ? artifactContent(await loadArtifact(reader, record)) : undefined;
  const detail = artifactDetail(record);
  const instead = `${detail === '' ? '' : `${detail}; `}${byteText(sizeBytes)}: "--save DIR" writes it into a folder`;
  return `${head}\n${content ?? instead}\n\n`;
}

/** Writes the content of artifacts into a folder, and returns the paths. */
async function save(
  reader: RunReader,
  records: readonly ArtifactRecord[],
  folder: string,
  isForced: boolean,
): Promise<string[]> {
  const output = await OutputFolder.open(folder, isForced);
  const paths: string[] = [];
  for (const record of records) {
    const file = { path: artifactPath(record), pieces: streamArtifact(reader, record) };
    paths.push((await output.write(file, () => Promise.resolve())).path);
  }
  return paths;
}

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
      { title: 'WHAT', cell: artifactDetail },
      { title: 'SIZE', cell: ({ sizeBytes }) => byteText(sizeBytes), align: 'right' },
      { title: 'STORED', cell: ({ timestamp }) => localTime(timestamp) },
      { title: 'ID', cell: ({ id }) => id },
    ],
    records,
    width,
    style,
  );
}
