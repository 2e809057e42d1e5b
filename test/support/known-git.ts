/**
 * Takes the place of `src/session/platforms/node/git.ts` in tests that run from source: sessions are opened by the thousand there, and a
 * process for each of them is most of what they cost. `git.test.ts` and what runs the built package ask the real one.
 */
import type { GitState } from '../../src/session/platforms/node/git.ts';

export const KNOWN_GIT: GitState = {
  commit: '0123456789abcdef0123456789abcdef01234567',
  branch: 'main',
  hasChanges: false,
};

export function readGit(): Promise<GitState> {
  return Promise.resolve(KNOWN_GIT);
}
