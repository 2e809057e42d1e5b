/** The code that a program runs: what Git, the lock file and the entry script say; and the difference of two runs. */
import { invalidInput } from '../../base/errors.ts';
import { toHex } from '../../base/hex.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isNode } from '../../base/runtime.ts';
import { readArtifacts } from '../../read/artifacts.ts';
import { loadPlatform, type ProgramCode } from '../../session/platforms/platform.ts';
import { sha256Hex } from '../../store/blob-rules.ts';
import { loadArtifact, type ArtifactSource } from '../artifacts/load-artifact.ts';
import { SecretCutter } from '../console/secrets.ts';
import { corrupt, fieldIn, listIn, textsIn } from './reading.ts';

/** Type of the artifacts that describe code. */
export const CODE_TYPE = 'code';
/** Scripts of a page that are named, and fetched for their hash. */
const MAX_SCRIPTS = 100;
const MAX_SCRIPT_BYTES = 16 << 20;

/** What is known of the code of a run. */
export type CodeState = {
  /** `node`, `browser` or `worker`. */
  readonly platform: string;
  readonly commit: string | null;
  readonly branch: string | null;
  /** Changes since the commit, as a patch without secrets; null outside of a repository and in pages. */
  readonly diff: string | null;
  /** Whether the patch was longer than its bound. */
  readonly isDiffCut: boolean;
  /** Files that Git neither knows nor ignores, at most 1000. */
  readonly untracked: readonly string[];
  readonly lockFile: { readonly name: string; readonly sha256: string } | null;
  /** Versions of packages by name. */
  readonly packages: Readonly<Record<string, string>>;
  /** Scripts, with their SHA-256 where it could be computed. */
  readonly scripts: readonly {
    readonly path: string;
    readonly sha256: string | null;
    readonly isEntry: boolean;
  }[];
};

/** What the program runs now. */
export async function readCode(
  maxDiffBytes: number,
  secrets: readonly (string | RegExp)[],
): Promise<{ readonly state: CodeState; readonly lockText: string | undefined }> {
  const { files } = await loadPlatform();
  const code = files === undefined ? await pageCode() : await files.readCode(maxDiffBytes);
  const cutter = new SecretCutter(secrets, isNode() ? globalThis.process.env : {});
  const { diff, lockFile, untrackedCount: _count, ...rest } = code;
  const lockText =
    lockFile === null
      ? undefined
      : withoutSecrets(new TextDecoder().decode(lockFile.bytes), cutter);
  return {
    state: {
      ...rest,
      platform:
        files === undefined ? (typeof document === 'undefined' ? 'worker' : 'browser') : 'node',
      diff: diff === null ? null : withoutSecrets(diff, cutter),
      lockFile:
        lockFile === null
          ? null
          : { name: lockFile.name, sha256: (await sha256Hex(lockFile.bytes)) ?? '' },
    },
    lockText,
  };
}

function withoutSecrets(text: string, cutter: SecretCutter): string {
  return text
    .split('\n')
    .map((line) => cutter.cut({ text: line, spans: [] }, false).text)
    .join('\n');
}

/** Scripts of a page or worker. Those of other sites have no hash unless they allow to be read. */
async function pageCode(): Promise<ProgramCode> {
  const entries: { url: string; isEntry: boolean }[] = [];
  if (typeof document === 'undefined')
    entries.push({ url: globalThis.location?.href ?? '', isEntry: true });
  else {
    const scripts = [...document.querySelectorAll('script[src]')];
    const first = scripts.findIndex((script) => script.getAttribute('type') === 'module');
    for (const [i, script] of scripts.slice(0, MAX_SCRIPTS).entries())
      entries.push({ url: Reflect.get(script, 'src'), isEntry: i === Math.max(0, first) });
  }
  const scripts = await Promise.all(
    entries.map(async ({ isEntry, url }) => ({
      path: url.replace(/[?#].*$/, ''),
      sha256: await hashOfScript(url),
      isEntry,
    })),
  );
  return {
    commit: null,
    branch: null,
    diff: null,
    isDiffCut: false,
    untracked: [],
    untrackedCount: 0,
    lockFile: null,
    packages: {},
    scripts,
  };
}

async function hashOfScript(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { cache: 'force-cache' });
    const size = Number(response.headers.get('content-length') ?? 0);
    if (!response.ok || size > MAX_SCRIPT_BYTES) return null;
    const bytes = await response.arrayBuffer();
    return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
  } catch {
    return null;
  }
}

/** A state as the payload of its artifact. */
export function codeToJson(state: CodeState): JsonObject {
  return {
    format_version: 1,
    platform: state.platform,
    commit: state.commit,
    branch: state.branch,
    diff: state.diff,
    is_diff_cut: state.isDiffCut,
    untracked: state.untracked,
    lock_file: state.lockFile,
    packages: state.packages,
    scripts: state.scripts.map(({ isEntry, path, sha256 }) => ({
      path,
      sha256,
      is_entry: isEntry,
    })),
  };
}

function codeFromJson(payload: unknown): CodeState {
  const textIn = (from: unknown, name: string): string | null => {
    const value = fieldIn(from, name);
    if (value !== null && typeof value !== 'string') throw corrupt(`${name} is no text`);
    return value;
  };
  const packages = fieldIn(payload, 'packages');
  if (typeof packages !== 'object' || packages === null) throw corrupt('packages are missing');
  const lock = fieldIn(payload, 'lock_file');
  return {
    platform: textIn(payload, 'platform') ?? '',
    commit: textIn(payload, 'commit'),
    branch: textIn(payload, 'branch'),
    diff: textIn(payload, 'diff'),
    isDiffCut: fieldIn(payload, 'is_diff_cut') === true,
    untracked: textsIn(payload, 'untracked'),
    lockFile:
      lock === null
        ? null
        : { name: textIn(lock, 'name') ?? '', sha256: textIn(lock, 'sha256') ?? '' },
    packages: Object.fromEntries(
      Object.keys(packages).map((name) => [name, textIn(packages, name) ?? '']),
    ),
    scripts: listIn(payload, 'scripts').map((script) => ({
      path: textIn(script, 'path') ?? '',
      sha256: textIn(script, 'sha256'),
      isEntry: fieldIn(script, 'is_entry') === true,
    })),
  };
}

/**
 * The code of a run, as `logCode` recorded it last; undefined where it did not.
 *
 * @throws {SessionStoreError} `missing` or `corrupt`
 * @example
 * ```js
 * import { createMemoryStore, TrainingSession } from 'quark-sdk';
 * import { MediaLogger, readRunCode } from 'quark-sdk/media';
 *
 * const store = createMemoryStore();
 * await TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *   await new MediaLogger(session).logCode();
 *   const { platform, commit, scripts } = await readRunCode(session);
 *   console.log(platform, scripts.length); // node 1
 *   console.log(commit); // null: the folder is no Git repository
 * });
 * ```
 */
export async function readRunCode(run: ArtifactSource): Promise<CodeState | undefined> {
  const { records } = await readArtifacts(run, { artifactType: CODE_TYPE });
  const record = records.at(-1);
  return record === undefined ? undefined : codeFromJson(await loadArtifact(run, record));
}

/** A value of two runs that is not the same; undefined where a run has none. */
export type ValueChange = {
  readonly path: string;
  readonly first: JsonValue | undefined;
  readonly second: JsonValue | undefined;
};

/** A file whose changes since the commit are not the same in two runs. */
export type FileChange = {
  readonly path: string;
  /** Which run has changes of it: one of them, or both, other ones. */
  readonly changedIn: 'first' | 'second' | 'both';
};

/** What differs between the code and the environments of two runs. */
export type CodeComparison = {
  /** Whether both runs have recorded their code. Where one has not, only environments and commits are compared. */
  readonly isRecorded: boolean;
  /** Commit, branch, platform, lock file. */
  readonly code: readonly ValueChange[];
  /** Files that were changed since the commit, in another way or in one run only. */
  readonly files: readonly FileChange[];
  readonly packages: readonly ValueChange[];
  readonly scripts: readonly ValueChange[];
  /** Of what the runs recorded of their machines; nested names are joined by ".". Process ids are left out. */
  readonly environment: readonly ValueChange[];
};

/** A run whose code is compared: what `openRun(store, runId)` returns. */
export type ComparableRun = ArtifactSource & {
  readonly run: {
    readonly id: string;
    readonly gitCommit: string | null;
    readonly environment: JsonObject;
  };
};

/**
 * Compares the code and the environments of two runs.
 *
 * @throws {QuarkError} `invalid_input`
 * @throws {SessionStoreError} `missing` or `corrupt`
 * @example
 * ```js
 * import { createMemoryStore, openRun, TrainingSession } from 'quark-sdk';
 * import { compareCode, MediaLogger } from 'quark-sdk/media';
 *
 * const store = createMemoryStore();
 * const train = () =>
 *   TrainingSession.run({ project: 'digits', storage: store }, async (session) => {
 *     await new MediaLogger(session).logCode();
 *     return session.runId;
 *   });
 * const [first, second] = [await train(), await train()];
 * const { isRecorded, packages, files } = await compareCode(await openRun(store, first), await openRun(store, second));
 * console.log(isRecorded, packages, files); // true [] []
 * ```
 */
export async function compareCode(
  first: ComparableRun,
  second: ComparableRun,
): Promise<CodeComparison> {
  for (const [field, value] of [
    ['first', first],
    ['second', second],
  ] as const)
    if (typeof value?.run?.id !== 'string')
      throw invalidInput(field, value, 'a run that openRun returned');
  const [a, b] = await Promise.all([readRunCode(first), readRunCode(second)]);
  const facts = (state: CodeState | undefined, { run }: ComparableRun): JsonObject => ({
    commit: state?.commit ?? run.gitCommit,
    ...(state === undefined
      ? {}
      : {
          branch: state.branch,
          platform: state.platform,
          lock_file: state.lockFile?.sha256 ?? null,
        }),
  });
  const both = a !== undefined && b !== undefined;
  const [factsA, factsB] = [
    facts(both ? a : undefined, first),
    facts(both ? b : undefined, second),
  ];
  return {
    isRecorded: both,
    code: changesOf(factsA, factsB),
    files: both ? fileChanges(a.diff ?? '', b.diff ?? '') : [],
    packages: both ? changesOf(a.packages, b.packages) : [],
    scripts: both ? changesOf(hashes(a), hashes(b)) : [],
    environment: changesOf(flat(first.run.environment), flat(second.run.environment)),
  };
}

function hashes({ scripts }: CodeState): Record<string, JsonValue> {
  return Object.fromEntries(scripts.map(({ path, sha256 }) => [path, sha256]));
}

/** Leaves of nested JSON by path. */
function flat(value: JsonObject): Record<string, JsonValue> {
  const leaves: [string, JsonValue][] = [];
  const visit = (one: JsonValue, path: string): void => {
    if (typeof one === 'object' && one !== null && !Array.isArray(one))
      for (const [name, item] of Object.entries(one))
        visit(item, path === '' ? name : `${path}.${name}`);
    else if (path !== 'process_id') leaves.push([path, one]);
  };
  visit(value, '');
  return Object.fromEntries(leaves);
}

function changesOf(
  first: Readonly<Record<string, JsonValue>>,
  second: Readonly<Record<string, JsonValue>>,
): ValueChange[] {
  const valueOf = (
    from: Readonly<Record<string, JsonValue>>,
    path: string,
  ): JsonValue | undefined => (Object.hasOwn(from, path) ? from[path] : undefined);
  return [...new Set([...Object.keys(first), ...Object.keys(second)])]
    .toSorted()
    .map((path) => ({ path, first: valueOf(first, path), second: valueOf(second, path) }))
    .filter((change) => JSON.stringify(change.first) !== JSON.stringify(change.second));
}

function fileChanges(first: string, second: string): FileChange[] {
  const [a, b] = [filesOfDiff(first), filesOfDiff(second)];
  return [...new Set([...a.keys(), ...b.keys()])].toSorted().flatMap((path): FileChange[] => {
    if (a.get(path) === b.get(path)) return [];
    const changedIn = !a.has(path) ? 'second' : b.has(path) ? 'both' : 'first';
    return [{ path, changedIn }];
  });
}

/** The part of a patch that is about each file. */
function filesOfDiff(diff: string): Map<string, string> {
  const parts = diff.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '));
  return new Map(
    parts.map((part) => [
      /^diff --git "?a\/(.*?)"? "?b\//.exec(part)?.[1] ?? part.slice(0, 200),
      part,
    ]),
  );
}
