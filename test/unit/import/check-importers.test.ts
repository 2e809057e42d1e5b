/** Importers of users that are wrong: refused with a sentence, before anything is read. */
import { createMemoryStore } from 'quark-sdk';
import { expect, test } from 'vitest';
import { bytesInput } from '../../../src/codecs/input.ts';
import { importRuns } from '../../../src/exchange/import/import-runs.ts';
import type { Importer } from '../../../src/exchange/import/sink/importer.ts';

const right: Importer = {
  format: 'my_log',
  title: 'My log',
  detect: () => 1,
  read: async ([file], context) => {
    const sink = await context.run({ identity: file?.path ?? '', name: 'mine' });
    sink.push(sink.metric('loss'), 0.5, 1, Number.NaN, Number.NaN);
  },
};

async function imports(importers: unknown): Promise<unknown> {
  const store = createMemoryStore();
  const options = { importers: importers as readonly Importer[] };
  const done = importRuns([bytesInput('a.log', 'step=1 loss=2\n')], store, options);
  const said = await done.catch((error: unknown) => error);
  if (said instanceof Error) expect(await store.listRuns()).toEqual([]);
  return said;
}

test('one that is right is asked first, also where another knows the file', async () => {
  expect(await imports([right])).toMatchObject({ runs: [{ format: 'my_log', rowCount: 1 }] });
});

test.each([
  [5, 'importers', 'a list of importers'],
  [[null], 'importers[0]', 'an object with format'],
  [[{ ...right, format: 'My Log' }], 'importers[0].format', 'a name of a-z'],
  [[{ ...right, format: 'csv' }], 'importers[0].format', 'no other importer has'],
  [[right, right], 'importers[1].format', 'no other importer has'],
  [[{ ...right, title: '' }], 'importers[0].title', 'what people call'],
  [[{ ...right, detect: 1 }], 'importers[0].detect', 'how sure it is'],
  [[{ ...right, read: undefined }], 'importers[0].read', 'reads files'],
  [[{ ...right, group: [] }], 'importers[0].group', 'lists of files'],
  [[{ ...right, detect: () => 'yes' }], 'importers: my_log.detect', 'from 0 (no) to 1'],
  [[{ ...right, detect: () => Number.NaN }], 'importers: my_log.detect', 'from 0 (no) to 1'],
])('%j: %s', async (importers, field, rule) => {
  expect(await imports(importers)).toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining(rule),
    details: { field },
  });
});

test('what one throws while it is asked is a problem of the file', async () => {
  const detect = (): number => {
    throw new Error('out of order');
  };
  expect(await imports([{ ...right, detect }])).toMatchObject({
    runs: [],
    problems: [{ file: 'a.log', reason: 'out of order' }],
  });
});
