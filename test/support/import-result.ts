/** Files imported into memory, and what came of them. */
import { createMemoryStore, openRun } from 'quark-sdk';
import { importRuns, type ImportOptions } from '../../src/exchange/import/import-runs.ts';
import type { InputFile } from '../../src/codecs/input.ts';
import { readArtifacts } from '../../src/read/artifacts.ts';

/** Imports; the readers are of the first run. */
export async function imported(files: readonly InputFile[], options: ImportOptions = {}) {
  const store = createMemoryStore();
  const report = await importRuns(files, store, options);
  const runId = report.runs[0]?.runId ?? '';
  const reader = report.runs.length > 0 ? await openRun(store, runId) : undefined;
  const values = async (metricKey: string) =>
    ((await reader?.readMetrics({ metricKey })) ?? []).map(({ step, value }) => [step, value]);
  const artifacts = async (artifactType: string) => {
    const { records } = await readArtifacts({ store, runId }, { artifactType });
    return Promise.all(
      records.map(async (found) => {
        const text = new TextDecoder().decode(await store.getBlob(found.sha256));
        const payload = artifactType === 'text' ? text : JSON.parse(text);
        return { key: found.artifactKey, step: found.step, payload };
      }),
    );
  };
  return { store, report, reader, values, artifacts };
}
