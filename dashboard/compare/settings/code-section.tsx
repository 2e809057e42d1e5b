/** The code and the packages of two runs: the baseline and another one. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { openRun, type JsonValue, type Store } from 'quark-sdk';
import {
  compareCode,
  readRunCode,
  type CodeComparison,
  type FileChange,
  type ValueChange,
} from 'quark-sdk/media';
import { usePromise } from '../../parts/hooks.ts';
import { ErrorNotice, SectionHead, Waiting } from '../../parts/notices.tsx';
import { t } from '../../parts/t.ts';
import type { ComparisonState } from '../comparison-state.ts';
import { ScrollTable, Head, RowHead } from '../scroll-table.tsx';

/** Characters of a patch that are shown. */
const MAX_PATCH_CHARS = 60_000;

type CodeOfTwo = {
  readonly comparison: CodeComparison;
  /** Changes since the commit that each has recorded; null where it has none. */
  readonly patches: readonly (string | null)[];
};

/** The section. */
export function CodeSection({ state }: { readonly state: ComparisonState }): JSX.Element {
  const ids = state.runs.summaries.map(({ run }) => run.id);
  const chosen = useSignal<string | undefined>(undefined);
  const first = ids.find((id) => id === state.baseline.value) ?? ids[0] ?? '';
  const second =
    ids.find((id) => id === chosen.value && id !== first) ?? ids.find((id) => id !== first);
  const { error, found } = usePromise(second === undefined ? undefined : `${first} ${second}`, () =>
    codeOfTwo(state.store, first, second ?? first),
  );
  return (
    <section aria-label={t('Code and packages')}>
      <SectionHead title={t('Code and packages')}>
        {second !== undefined && (
          <span class="row wrap gap-8 small muted">
            <RunChoice
              state={state}
              label={t('Baseline')}
              ids={ids}
              value={first}
              onChange={(id) => {
                state.baseline.value = id;
              }}
            />
            <RunChoice
              state={state}
              label={t('Compared with')}
              ids={ids.filter((id) => id !== first)}
              value={second}
              onChange={(id) => {
                chosen.value = id;
              }}
            />
          </span>
        )}
      </SectionHead>
      {second === undefined && <p class="quiet">{t('Code is compared between two runs.')}</p>}
      {error !== undefined && <ErrorNotice title={t('The code cannot be read')} error={error} />}
      {second !== undefined && error === undefined && found === undefined && (
        <Waiting label={t('Reading the code')} />
      )}
      {found !== undefined && (
        <CodeTables
          code={found.value}
          names={[state.runs.nameOf(first), state.runs.nameOf(second ?? first)]}
        />
      )}
    </section>
  );
}

async function codeOfTwo(store: Store, first: string, second: string): Promise<CodeOfTwo> {
  const [a, b] = await Promise.all([openRun(store, first), openRun(store, second)]);
  const states = await Promise.all([readRunCode(a), readRunCode(b)]);
  return { comparison: await compareCode(a, b), patches: states.map((code) => code?.diff ?? null) };
}

function RunChoice(props: {
  readonly state: ComparisonState;
  readonly label: string;
  readonly ids: readonly string[];
  readonly value: string;
  readonly onChange: (id: string) => void;
}): JSX.Element {
  const { ids, label, onChange, state, value } = props;
  return (
    <label class="compare-choice inline gap-6">
      <span>{label}</span>
      <select class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {ids.map((id) => (
          <option key={id} value={id}>
            {state.runs.nameOf(id)}
          </option>
        ))}
      </select>
    </label>
  );
}

const CODE_NAMES: Readonly<Record<string, () => string>> = {
  commit: () => t('commit'),
  branch: () => t('branch'),
  platform: () => t('platform'),
  lock_file: () => t('lock file (SHA-256)'),
};

function CodeTables(props: {
  readonly code: CodeOfTwo;
  readonly names: readonly [string, string];
}): JSX.Element {
  const { names } = props;
  const { comparison, patches } = props.code;
  const { code, files, isRecorded, packages, scripts } = comparison;
  const isSame = code.length + files.length + packages.length + scripts.length === 0;
  const facts = code.map((change) => ({
    ...change,
    path: CODE_NAMES[change.path]?.() ?? change.path,
  }));
  return (
    <div class="stack gap-12">
      {!isRecorded && (
        <p class="quiet small">
          {t('Only commits are compared: not both runs have recorded their code with logCode().')}
        </p>
      )}
      {isSame && (
        <p class="quiet">{t('Their code and packages are the same, as far as recorded.')}</p>
      )}
      <Changes title={t('Code')} changes={facts} names={names} />
      <Files files={files} names={names} />
      <Changes title={t('Packages')} changes={packages} names={names} />
      <Changes title={t('Scripts (SHA-256)')} changes={scripts} names={names} />
      {patches.map((patch, at) =>
        patch === null || patch === '' ? null : (
          <Patch key={names[at]} name={names[at] ?? ''} patch={patch} />
        ),
      )}
    </div>
  );
}

function Changes(props: {
  readonly title: string;
  readonly changes: readonly ValueChange[];
  readonly names: readonly [string, string];
}): JSX.Element | null {
  const { changes, names, title } = props;
  if (changes.length === 0) return null;
  return (
    <ScrollTable
      label={title}
      class="setting-scroll"
      head={
        <>
          <Head isFirst>{title}</Head>
          <Head>{names[0]}</Head>
          <Head>{names[1]}</Head>
        </>
      }
    >
      {changes.map(({ first, path, second }) => (
        <tr key={path}>
          <RowHead>{path}</RowHead>
          <td class="code breakable">{shownValue(first)}</td>
          <td class="code breakable">{shownValue(second)}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}

function shownValue(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function Files(props: {
  readonly files: readonly FileChange[];
  readonly names: readonly [string, string];
}): JSX.Element | null {
  const { files, names } = props;
  if (files.length === 0) return null;
  const words = ({ changedIn }: FileChange): string => {
    if (changedIn === 'both') return t('other changes in each run');
    return t('changed in {name} only', { name: changedIn === 'first' ? names[0] : names[1] });
  };
  return (
    <div>
      <h3>{t('Files changed since the commit')}</h3>
      <ul class="changed-files">
        {files.map((file) => (
          <li key={file.path} class="small">
            <span class="code breakable">{file.path}</span> <span class="quiet">{words(file)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The changes since the commit, line by line. It is text of a run: nothing in it is markup. */
function Patch(props: { readonly name: string; readonly patch: string }): JSX.Element {
  const { name, patch } = props;
  const lines = patch.slice(0, MAX_PATCH_CHARS).split('\n');
  return (
    <details>
      <summary>{t('Uncommitted changes of {name}', { name })}</summary>
      <pre
        class="patch card code"
        tabIndex={0}
        role="region"
        aria-label={t('Uncommitted changes of {name}', { name })}
      >
        {lines.map((line, at) => (
          <span key={at} class={lineClass(line)}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
      {patch.length > MAX_PATCH_CHARS && (
        <p class="quiet small">{t('The rest is in the artifact "code" of the run.')}</p>
      )}
    </details>
  );
}

function lineClass(line: string): string {
  if (/^(?:diff |index |--- |\+\+\+ |@@)/.test(line)) return 'patch-head';
  if (line.startsWith('+')) return 'patch-added';
  return line.startsWith('-') ? 'patch-removed' : '';
}
