/** What people have, imported and analysed: every series and value arrives, by the importer of its format, and what decides is found. */
import { describe, expect, test } from 'vitest';
import { analyzeColumns, analyzePhases, findRoles, loadRunColumns } from 'quark-sdk/analysis';
import { FORMAT_NAMES, IMPORTERS } from '../../../src/exchange/import/importers.ts';
import type { InputHead } from '../../../src/exchange/import/sink/importer.ts';
import { bytesInput, fileName, folderOf } from '../../../src/codecs/input.ts';
import { COLLECTION } from '../../collection/collection.ts';
import type { CollectionEntry } from '../../collection/entry.ts';
import { importText, type ImportedForTest } from '../../support/imported.ts';

describe('collection', () => {
  test('every entry has a name of its own', () => {
    const names = COLLECTION.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  test('it has at least 150 entries, and some of every format', () => {
    expect(COLLECTION.length).toBeGreaterThanOrEqual(150);
    const known = new Set(COLLECTION.map(({ format }) => format));
    expect(FORMAT_NAMES.filter((format) => !known.has(format))).toEqual([]);
  });

  for (const entry of COLLECTION) {
    test(entry.name, async () => {
      const { report: imported, runs } = await importText(await entry.make());
      expect(imported.unknownFiles).toEqual([]);
      expect(new Set(imported.runs.map(({ format }) => format))).toEqual(new Set([entry.format]));
      expectProblems(
        imported.problems.map(({ place, reason }) => `${place ?? ''} ${reason}`),
        entry,
      );
      expect({
        runs: runs.length,
        series: runs.reduce((sum, { metrics }) => sum + Object.keys(metrics).length, 0),
        values: runs.reduce((sum, run) => sum + Object.values(run.metrics).flat().length, 0),
      }).toEqual({ runs: entry.runs ?? 1, series: entry.series, values: entry.values });
      const last = runs.at(-1);
      if (last === undefined) return;
      expect(endsOf(last, entry)).toEqual([entry.last ?? {}, entry.at ?? {}]);
      const text = await judge(last);
      const isSaid = (part: string | RegExp): boolean =>
        typeof part === 'string' ? text.split('\n').includes(part) : part.test(text);
      expect(
        entry.says.filter((part) => !isSaid(part)),
        text,
      ).toEqual([]);
      expect(entry.saysNot?.filter(isSaid) ?? [], text).toEqual([]);
    });
  }

  test('no two importers are equally sure of a file: the order of the list decides nothing', async () => {
    const made = await Promise.all(
      COLLECTION.map(async (entry) => ({ entry, files: await entry.make() })),
    );
    const ties = made.flatMap(({ entry, files }) => {
      return Object.entries(files).flatMap(([path, content]) => {
        const head = headOf(path, content, files);
        const sure = IMPORTERS.map((importer) => [importer.format, importer.detect(head)] as const);
        const most = Math.max(...sure.map(([, confidence]) => confidence));
        const first = sure.filter(([, confidence]) => confidence === most);
        // What none of them claims is packed, or in a problem.
        return most > 0 && first.length > 1
          ? [`${entry.name}: ${path}: ${first.join(' and ')}`]
          : [];
      });
    });
    expect(ties).toEqual([]);
  });
});

const ROLES = [
  ['training loss', 'trainLoss'],
  ['validation loss', 'valLoss'],
  ['training accuracy', 'trainAccuracy'],
  ['validation accuracy', 'valAccuracy'],
  ['reward', 'reward'],
] as const;

/** What the analysis says of a run: the roles of its metrics, how it ended, its health, its alerts and its phases. */
async function judge({ reader }: ImportedForTest): Promise<string> {
  const columns = await loadRunColumns(reader);
  const roles = findRoles(columns.metrics);
  const { alerts, healthScores } = analyzeColumns(columns);
  const { phases } = await analyzePhases(columns);
  return [
    ...ROLES.map(([said, role]) => `${said}: ${roles[role]?.series.key ?? 'none'}`),
    `status: ${reader.run.status}`,
    ...healthScores.map(({ scoreKey, status }) => `health ${scoreKey}: ${status}`),
    ...alerts.map(({ ruleId, title, severity }) => `alert ${ruleId}: ${severity}: ${title}`),
    ...phases.map(({ displayName }) => `phase: ${displayName}`),
  ].join('\n');
}

function expectProblems(found: readonly string[], { problems = [] }: CollectionEntry): void {
  if (problems.length === 0) expect(found).toEqual([]);
  expect(found).toHaveLength(problems.length);
  for (const [i, problem] of problems.entries()) expect(found[i]).toMatch(problem);
}

/** The last values and positions that the entry names, as they arrived. */
function endsOf({ metrics }: ImportedForTest, { at = {}, last = {} }: CollectionEntry): unknown {
  const lastOf = (key: string) => metrics[key]?.at(-1);
  return [
    Object.fromEntries(Object.keys(last).map((key) => [key, lastOf(key)?.[2]])),
    Object.fromEntries(Object.keys(at).map((key) => [key, lastOf(key)?.[0] ?? lastOf(key)?.[1]])),
  ];
}

function headOf(path: string, content: string | Uint8Array<ArrayBuffer>, files: object): InputHead {
  const all = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const bytes = all.slice(0, 65_536);
  return {
    file: bytesInput(path, all),
    bytes,
    text: new TextDecoder().decode(bytes),
    hasFile: (other) => other in files,
    namesIn: (folder) =>
      Object.keys(files)
        .filter((other) => folderOf(other) === folder)
        .map(fileName),
    options: {},
  };
}
