/** Deleted tables and artifacts: part of the contract of stores. */
import { describe, expect, test } from 'vitest';
import { readArtifacts } from '../../src/read/artifacts.ts';
import { readMetricColumns } from '../../src/read/metric-columns.ts';
import { deleteArtifact, deleteTable } from '../../src/read/row-deletion.ts';
import { artifactTable } from '../../src/records/artifact.ts';
import { metricTable } from '../../src/records/metric.ts';
import { compactTable } from '../../src/segment/compact.ts';
import { artifactSegmentOf } from '../support/artifact-segments.ts';
import { metricSegmentOf } from '../support/real-segments.ts';
import { endedRun } from '../support/retained-runs.ts';
import type { LocationUnderTest } from '../../src/store/testing/location-under-test.ts';

const RUN = 'run_ended';

export function describeRowDeletion(place: LocationUnderTest): void {
  describe('deleted tables and artifacts', () => {
    const add = async (): Promise<void> => {
      await place.store.createRun(endedRun({ id: RUN, endedAtMs: 1_700_000_000_000 }));
    };
    const rowsOf = async (): Promise<number> =>
      (await readMetricColumns({ store: place.store, runId: RUN })).rowCount;
    const segments = [0, 1, 2].map((batch) => metricSegmentOf(batch, { runId: RUN }));
    const artifacts = [0, 1].map((batch) =>
      artifactSegmentOf(batch, [['1'.repeat(64)], ['2'.repeat(64)]], { runId: RUN }),
    );
    const keys = async (): Promise<readonly string[]> => {
      const { records } = await readArtifacts({ store: place.store, runId: RUN });
      return records.map(({ artifactKey, id, sequence }) => `${artifactKey} ${id} ${sequence}`);
    };

    test('a table is empty, sending its batches again brings nothing back, new ones are added', async () => {
      await add();
      await place.store.appendSegments(segments.slice(0, 2));
      expect(await deleteTable(place.store, RUN, 'metrics')).toEqual({
        runId: RUN,
        table: 'metrics',
        rows: 20,
      });
      expect(await rowsOf()).toBe(0);
      expect(await place.store.listSegments({ runId: RUN, table: 'metrics' })).toEqual([]);
      const again = await place.store.appendSegments(segments.slice(0, 2));
      expect(again.map(({ droppedRows, rowCount }) => [rowCount, droppedRows])).toEqual([
        [0, 20],
        [0, 20],
      ]);
      await place.reopen();
      expect(await rowsOf()).toBe(0);
      const [added] = await place.store.appendSegments(segments);
      expect(added?.rowCount).toBe(0);
      expect(await rowsOf()).toBe(10);
      const all = await place.store.listSegments({ runId: RUN, table: 'metrics', empty: true });
      expect(all.map(({ rowCount }) => rowCount)).toEqual([0, 10]);
      expect(await deleteTable(place.store, RUN, 'metrics')).toMatchObject({ rows: 10 });
      expect(await deleteTable(place.store, RUN, 'metrics')).toMatchObject({ rows: 0 });
    });

    test('what was merged before and after stays deleted', async () => {
      await add();
      await place.store.appendSegments(segments);
      await compactTable(place.store, metricTable, RUN, 'mrg_1');
      await deleteTable(place.store, RUN, 'metrics');
      await place.store.appendSegments(segments);
      await compactTable(place.store, metricTable, RUN, 'mrg_2');
      await place.store.appendSegments(segments);
      expect(await rowsOf()).toBe(0);
    });

    test('an artifact goes by its id, or by its key, and the others stay with their numbers', async () => {
      await add();
      await place.store.appendSegments(artifacts);
      const before = await keys();
      expect(await deleteArtifact(place.store, RUN, 'art_writer_a_0_1')).toMatchObject({ rows: 1 });
      expect(await keys()).toEqual(before.filter((key) => !key.includes('art_writer_a_0_1')));
      await place.store.appendSegments(artifacts);
      await compactTable(place.store, artifactTable, RUN, 'mrg_1');
      const [merged] = await place.store.listSegments({ runId: RUN, table: 'artifacts' });
      expect(merged).toMatchObject({ rowCount: 3, droppedRows: 1 });
      expect(await deleteArtifact(place.store, RUN, 'a0')).toMatchObject({ rows: 2 });
      expect(await keys()).toEqual(before.filter((key) => key.includes('art_writer_a_1_1')));
      await place.store.appendSegments(artifacts);
      expect(await keys()).toHaveLength(1);
      expect(await deleteArtifact(place.store, RUN, 'a1')).toMatchObject({ rows: 1 });
      expect(await keys()).toEqual([]);
      await expect(deleteArtifact(place.store, RUN, 'a1')).rejects.toMatchObject({
        code: 'artifact_not_found',
      });
    });

    test('what a takeover has superseded goes, too, and stays apart', async () => {
      await add();
      const live = [metricSegmentOf(2, { runId: RUN }), ...artifacts.slice(1)];
      const late = [...segments.slice(0, 2), ...artifacts.slice(0, 1)].map(
        ({ bytes, manifest }) => ({ bytes, manifest: { ...manifest, generation: 1 } }),
      );
      const run = await place.store.findRun(RUN);
      if (run === undefined) throw new Error('It was made.');
      await place.store.updateRun({ ...run, generation: 2 });
      await place.store.appendSegments([...live, ...late]);
      const all = async (table: string): Promise<readonly string[]> => {
        const found = await place.store.listSegments({
          runId: RUN,
          table,
          superseded: true,
          empty: true,
        });
        return found
          .map(({ droppedRows = 0, rowCount, superseded = false }) =>
            [rowCount, droppedRows, superseded].join(' '),
          )
          .sort();
      };
      expect(await deleteTable(place.store, RUN, 'metrics')).toMatchObject({ rows: 30 });
      expect(await all('metrics')).toEqual(['0 10 false', '0 20 true']);
      expect(await deleteArtifact(place.store, RUN, 'art_writer_a_0_1')).toMatchObject({ rows: 1 });
      expect(await all('artifacts')).toEqual(['1 1 true', '2 0 false']);
      await place.store.appendSegments([...live, ...late]);
      expect(await all('metrics')).toEqual(['0 10 false', '0 20 true']);
      expect(await all('artifacts')).toEqual(['1 1 true', '2 0 false']);
      expect(await rowsOf()).toBe(0);
    });

    test('refusals change nothing', async () => {
      await add();
      await place.store.appendSegments(segments);
      await expect(deleteTable(place.store, RUN, 'metric')).rejects.toMatchObject({
        code: 'invalid_input',
        details: { field: 'table' },
      });
      await expect(deleteTable(place.store, 'run_none', 'metrics')).rejects.toMatchObject({
        code: 'run_not_found',
      });
      const [segment] = artifacts;
      if (segment === undefined) throw new Error('There is one.');
      const empty = { ...segment.manifest, rowCount: 0 };
      await expect(
        place.store.appendSegments([{ manifest: empty, bytes: segment.bytes }]),
      ).rejects.toMatchObject({ code: 'invalid_input' });
      expect(await rowsOf()).toBe(30);
    });
  });
}
