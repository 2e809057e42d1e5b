/** Commands in a folder of the build before the rooms: JSON, CSV and exit codes are the same. */
import { afterAll, expect, test } from 'vitest';
import { quark } from '../../cli/fake-io.ts';
import { withoutAddedFields } from './earlier-columns.ts';
import { endOf, withoutSentences, withoutVersion2, type Ended } from './commands.ts';
import { Folders, jsonFixture } from './fixtures.ts';
import { fixTimeAndRandomness, START_MS } from './scenario.ts';

const folders = new Folders();
const folder = folders.addStore();
afterAll(() => folders.clear());

const ended = jsonFixture('commands.json') as readonly Ended[];

test.each(ended.map((one) => [one.args.join(' '), one] as const))('quark %s', async (_, before) => {
  const { args, stdout, stderr, ...rest } = before;
  const fixed = fixTimeAndRandomness(START_MS + 3_600_000);
  const ran = await quark(args, { cwd: folder }).finally(() => fixed.restore());
  const now = endOf(args, ran, folder);
  expect({ ...now, stdout: withoutAddedFields(args, withoutVersion2(args, now.stdout)) }).toEqual({
    args,
    ...rest,
    stdout: withoutVersion2(args, stdout && withoutSentences(stdout)),
    ...(stderr === undefined ? {} : { stderr: withoutSentences(stderr) }),
  });
});
