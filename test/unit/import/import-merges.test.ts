/** Large imports are merged and packed, and an import that is cut off in between is gone on with. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openRun, openStorage, type Store } from 'quark-sdk';
import { bytesInput, importRuns } from '../../../src/exchange.ts';
import type { InputFile } from '../../../src/codecs/input.ts';

const LINES = 150_000;

/** Two metrics of 150,000 lines; reading fails at `failAt`, where it is given. */
function csv(failAt = Number.POSITIVE_INFINITY): InputFile {
  let text = 'step,train_loss,val_loss\n';
  for (let line = 0; line < LINES; line++) text += `${line},${line / 7},${line * 3}\n`;
  const whole = bytesInput('metrics.csv', text);
  return {
    ...whole,
    modifiedAtMs: 1_700_000_000_000,
    async *stream(start = 0) {
      let at = start;
      for await (const chunk of whole.stream(start)) {
        at += chunk.byteLength;
        if (at > failAt) throw new Error('the disk is gone');
        yield chunk;
      }
    },
  };
}

async function folderStore(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'quark-import-merges-'));
  const store = await openStorage(folder);
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  return store;
}

test.each(['at once', 'after a read that failed'])('%s', async (way) => {
  const store = await folderStore();
  if (way !== 'at once') {
    const cut = await importRuns([csv(3 << 20)], store);
    expect(cut.runs[0]?.isComplete).toBe(false);
  }
  const { runs } = await importRuns([csv()], store);
  const [run] = runs;
  if (run === undefined) throw new Error('a run is imported');
  expect(run.rowCount).toBe(2 * LINES);
  const segments = await store.listSegments({ runId: run.runId, table: 'metrics' });
  expect(segments.every(({ encoding }) => encoding === 'packed')).toBe(true);
  const bytes = segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  expect(bytes / run.rowCount).toBeLessThan(8);
  const reader = await openRun(store, run.runId);
  for (const [key, valueOf] of [
    ['train/loss', (line: number) => line / 7],
    ['val/loss', (line: number) => line * 3],
  ] as const) {
    const { steps, values } = await reader.readMetricColumns({ metricKey: key });
    expect(values.length).toBe(LINES);
    expect(values.every((value, line) => value === valueOf(line) && steps[line] === line)).toBe(
      true,
    );
  }
  const again = await importRuns([csv()], store);
  expect(again.runs[0]?.isNew).toBe(false);
});
