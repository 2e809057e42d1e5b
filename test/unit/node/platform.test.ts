import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { nodePlatform } from '../../../src/session/platforms/node/platform.ts';
import { KNOWN_GIT } from '../../support/known-git.ts';

test('a run is told the machine, and what Git says', async () => {
  expect(await nodePlatform.gitCommit()).toBe(KNOWN_GIT.commit);
  expect(await nodePlatform.environment()).toMatchObject({
    platform: 'node',
    hostname: hostname(),
    process_id: process.pid,
    git_branch: KNOWN_GIT.branch,
    git_has_changes: KNOWN_GIT.hasChanges,
  });
});
