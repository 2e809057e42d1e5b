/** Real logs with a careful reader's labels, which lie beside the repository where they are there at all. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createMemoryStore, openRun } from 'quark-sdk';
import { loadRunColumns, type RunColumns } from 'quark-sdk/analysis';
import { importRuns } from '../../src/exchange/import/import-runs.ts';
import { bytesInput } from '../../src/codecs/input.ts';

const beside = fileURLToPath(new URL('../../../shared/data/runs', import.meta.url));
const folder = existsSync(join(beside, 'manifest.json')) ? beside : undefined;

/** What a reader expects of one run. */
export type LabelledRun = {
  readonly id: string;
  readonly expectedAlerts: Readonly<
    Record<string, { readonly expected: boolean | 'uncertain'; readonly x_from: number | null }>
  >;
  readonly expectedPhases: readonly {
    readonly phase: string;
    readonly x_from: number;
    readonly x_to: number;
    readonly confidence: string;
  }[];
  /** The runs of the files; several where the same numbers lie there in several formats. */
  readonly load: () => Promise<readonly RunColumns[]>;
};

/** The labelled runs; undefined where the folder is missing. */
export function labelledRuns(): readonly LabelledRun[] | undefined {
  if (folder === undefined) return undefined;
  const { entries } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  return entries.map((entry: Record<string, never>): LabelledRun => ({
    id: entry['id'] ?? '',
    expectedAlerts: entry['expected_alerts'] ?? {},
    expectedPhases: entry['expected_phases'] ?? [],
    load: () => load(entry['dir'] ?? '', entry['files'] ?? []),
  }));
}

async function load(
  dir: string,
  files: readonly { readonly saved: string }[],
): Promise<readonly RunColumns[]> {
  const store = createMemoryStore();
  const inputs = files.map(({ saved }) =>
    bytesInput(saved, new Uint8Array(readFileSync(join(folder ?? '', dir, saved)))),
  );
  const { runs } = await importRuns(inputs, store);
  return Promise.all(runs.map(async ({ runId }) => loadRunColumns(await openRun(store, runId))));
}
