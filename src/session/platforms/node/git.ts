/** What Git says of the working directory, for the record of a run. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const TIMEOUT_MS = 2000;
/** Everything in one process, which is what asking costs; neither locks are taken nor commits counted. */
const STATUS = [
  '--no-optional-locks',
  'status',
  '--porcelain=v2',
  '--branch',
  '--no-ahead-behind',
  '--untracked-files=no',
] as const;

/** All null where there is no Git, no repository, or no commit yet. */
export type GitState = {
  readonly commit: string | null;
  /** `HEAD` where no branch is checked out. */
  readonly branch: string | null;
  readonly hasChanges: boolean | null;
};

const UNKNOWN: GitState = { commit: null, branch: null, hasChanges: null };

/** Questions without an answer yet, by directory: who asks at the same time shares it. */
const asked = new Map<string, Promise<GitState>>();

/** Asks Git about the working directory. */
export function readGit(): Promise<GitState> {
  const directory = process.cwd();
  let answer = asked.get(directory);
  if (answer === undefined) {
    answer = ask(directory).finally(() => asked.delete(directory));
    asked.set(directory, answer);
  }
  return answer;
}

async function ask(directory: string): Promise<GitState> {
  try {
    return parse(await git(directory, STATUS));
  } catch (error) {
    // To compare the files of a very large repository takes longer; what was checked out is known at once.
    const isLate = error instanceof Error && Reflect.get(error, 'killed') === true;
    const commit = isLate ? await git(directory, ['rev-parse', 'HEAD']).catch(() => null) : null;
    return { ...UNKNOWN, commit: commit?.trim() ?? null };
  }
}

function parse(text: string): GitState {
  const lines = text.split('\n').filter((line) => line !== '');
  const header = (name: string): string =>
    lines.find((line) => line.startsWith(`# branch.${name} `))?.slice(10 + name.length) ?? '';
  const commit = header('oid');
  if (!/^[\da-f]{40,}$/.test(commit)) return UNKNOWN;
  const branch = header('head');
  return {
    commit,
    branch: branch === '(detached)' ? 'HEAD' : branch || null,
    hasChanges: lines.some((line) => !line.startsWith('#')),
  };
}

async function git(directory: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, {
    cwd: directory,
    timeout: TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
    windowsHide: true,
  });
  return stdout;
}
