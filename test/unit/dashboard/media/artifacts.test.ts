import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemoryStore, openRun } from 'quark-sdk';
import { loadArtifact } from 'quark-sdk/probes';
import { ArtifactFeed, savedNameOf } from '../../../../dashboard/media/artifact/artifact-list.ts';
import { parseCsv, previewOf } from '../../../../dashboard/media/artifact/file-preview.ts';
import { GALLERY_KINDS, mediaOf, MediaFeed } from '../../../../dashboard/media/media-feed.ts';
import { hasArtifacts, hasMedia, OFFERED_KINDS } from '../../../../dashboard/media/presence.ts';
import { recordMediaRun } from '../../../support/media-run.ts';

const store = createMemoryStore();
let runId = '';

beforeAll(async () => {
  runId = await recordMediaRun(store, { name: 'first' });
});
afterAll(() => store.close());

describe('what a run has', () => {
  it('is found by kind and name, with the problems of none', async () => {
    const feed = new MediaFeed(store, [{ runId, name: 'first' }]);
    expect(await feed.poll()).toBe(true);
    expect(await feed.poll()).toBe(false);
    const [run] = feed.runs;
    if (run === undefined) throw new Error('no run');
    expect(new Set(run.items.map(({ kind }) => kind))).toEqual(new Set(GALLERY_KINDS));
    expect(run.problems).toEqual([]);
    expect(mediaOf(run, 'image').map(({ key, step }) => `${key} ${step}`)).toEqual(
      ['samples/plain', 'samples/ring'].flatMap((key) =>
        [0, 100, 200, 300].map((step) => `${key} ${step}`),
      ),
    );
    const reader = await openRun(store, runId);
    expect(await Promise.all([hasMedia(reader), hasArtifacts(reader)])).toEqual([true, true]);
  });

  it('is asked for by all kinds that are shown', () => {
    expect([...OFFERED_KINDS].toSorted()).toEqual([...GALLERY_KINDS].toSorted());
  });

  it('is listed with versions, and saved under names that no path hides in', async () => {
    const source = { store, runId };
    const feed = new ArtifactFeed(source);
    await feed.poll();
    const group = (key: string): (typeof feed.groups)[number] => {
      const found = feed.groups.find((one) => one.key === key);
      if (found === undefined) throw new Error(key);
      return found;
    };
    expect(group('samples/ring').versions).toHaveLength(4);
    const [csv] = group('files/labels.csv').versions;
    const [image] = group('samples/ring').versions;
    const [svg] = group('files/picture.svg').versions;
    if (csv === undefined || image === undefined || svg === undefined) throw new Error('missing');
    expect(savedNameOf(csv)).toBe('labels.csv');
    expect(savedNameOf(image)).toBe('samples_ring.png');
    expect(savedNameOf({ ...csv, metadata: { path: '../..\\a/b<>:"|?*.csv' } })).not.toMatch(
      /[\\/<>:"|?*]/,
    );
    expect(previewOf(await loadArtifact(source, csv), savedNameOf(csv))).toMatchObject({
      kind: 'table',
      table: {
        columns: ['name', 'count'],
        rows: [
          ['cat', 3],
          ['dog', 5],
        ],
      },
    });
    expect(previewOf(await loadArtifact(source, image), savedNameOf(image)).kind).toBe('image');
    // An SVG file is a document: its source is shown.
    expect(previewOf(await loadArtifact(source, svg), savedNameOf(svg)).kind).toBe('text');
  });
});

describe('a preview', () => {
  it('goes by the bytes', () => {
    const text = new TextEncoder().encode('{"a": [1]}');
    expect(previewOf(text, 'x.json')).toEqual({ kind: 'json', value: { a: [1] } });
    expect(previewOf(text, 'x.png').kind).toBe('text');
    expect(previewOf(Uint8Array.of(0, 1, 2), 'x.txt').kind).toBe('bytes');
    expect(previewOf('{broken', 'x.json').kind).toBe('text');
    expect(previewOf('# T', 'readme.md').kind).toBe('markdown');
    expect(previewOf({ a: 1 }, 'x')).toEqual({ kind: 'json', value: { a: 1 } });
  });

  it('of CSV has quotes, line breaks in them, and short rows', () => {
    expect(parseCsv('a,b\r\n"x, ""y""\nz",1\n2\n\n', ',')).toEqual({
      columns: ['a', 'b'],
      rows: [
        ['x, "y"\nz', 1],
        [2, null],
      ],
    });
  });
});
