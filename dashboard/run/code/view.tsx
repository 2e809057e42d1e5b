/** The "Code" tab: commit, branch, uncommitted changes, packages and scripts, as `logCode` recorded them. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { readRunCode, type CodeState } from 'quark-sdk/media';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { usePromise } from '../../parts/hooks.ts';
import { ErrorNotice, HowTo, SectionHead, Waiting, Warning } from '../../parts/notices.tsx';
import { adding } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import type { TabProps } from '../feed/tab.ts';
import { parseDiff, type PatchFile } from './diff.ts';
import './style.css';

/** Lines of all files together that are drawn at first, and with each "Show more". */
const SHOWN_LINES = 1500;
/** Files, packages and scripts that are listed at first, and with each "Show more". */
const SHOWN_ROWS = 100;

/** The "Code" tab. */
export default function CodeView({ feed, watch }: TabProps): JSX.Element {
  void watch.nowMs.value;
  const { reader, run } = feed;
  const { error, found, retry } = usePromise(
    `${run.id} ${run.updatedAt}`,
    async () => (await readRunCode(reader)) ?? null,
  );
  if (error !== undefined)
    return <ErrorNotice title={t('The code cannot be read')} error={error} onRetry={retry} />;
  if (found === undefined) return <Waiting label={t('Reading the code')} />;
  const state = found.value;
  if (state === null)
    return (
      <HowTo
        title={t('The code was not recorded')}
        text={t(
          'Commit, uncommitted changes, lock file and packages of a program; the scripts of a page.',
        )}
        code={`import { MediaLogger } from 'quark-sdk/media';\n\nawait new MediaLogger(session).logCode();`}
      />
    );
  return (
    <section class="code-tab column gap-12" aria-label={t('Code')}>
      <CodeFacts state={state} />
      <Changes state={state} />
      <Versions packages={state.packages} />
      <Scripts scripts={state.scripts} />
    </section>
  );
}

function CodeFacts({ state }: { readonly state: CodeState }): JSX.Element {
  const { branch, commit, lockFile, platform } = state;
  const rows: readonly (readonly [string, JSX.Element | string])[] = [
    [t('platform'), platform],
    ...(commit === null
      ? []
      : [
          [
            t('commit'),
            <CopyButton key="commit" text={commit} label={t('Copy the commit')}>
              <span class="mono">{commit.slice(0, 12)}</span>
            </CopyButton>,
          ] as const,
        ]),
    ...(branch === null ? [] : [[t('branch'), branch] as const]),
    ...(lockFile === null
      ? []
      : [[t('lock file'), `${lockFile.name}, ${lockFile.sha256.slice(0, 12)}`] as const]),
  ];
  return (
    <dl class="code-facts row wrap gap-18">
      {rows.map(([name, value]) => (
        <div key={name} class="row gap-6">
          <dt class="quiet">{name}</dt>
          <dd class="breakable">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Changes({ state }: { readonly state: CodeState }): JSX.Element | null {
  const { diff, isDiffCut, untracked } = state;
  const shownLines = useSignal(SHOWN_LINES);
  if (diff === null) return null;
  const files = parseDiff(diff);
  let left = shownLines.value;
  const parts = files.map((file) => {
    const count = Math.max(0, Math.min(left, file.lines.length));
    left -= count;
    return { file, count };
  });
  const hidden = files.reduce((sum, { lines }) => sum + lines.length, 0) - shownLines.value;
  return (
    <div class="column gap-12">
      <SectionHead title={t('Uncommitted changes')}>
        <span class="quiet">
          {files.length === 0 ? t('none') : tn(files.length, '{count} file', '{count} files')}
        </span>
        {diff !== '' && <CopyButton text={diff} label={t('Copy the patch')} />}
      </SectionHead>
      {isDiffCut && <Warning>{t('The patch was longer than its bound, and is cut.')}</Warning>}
      {parts.map(({ count, file }) => (
        <FileChanges key={file.path} file={file} shownCount={count} />
      ))}
      {hidden > 0 && (
        <Button class="more" onClick={adding(shownLines, SHOWN_LINES)}>
          {t('Show {count} more lines', { count: formatCount(Math.min(hidden, SHOWN_LINES)) })}
        </Button>
      )}
      {untracked.length > 0 && (
        <details>
          <summary>
            {tn(
              untracked.length,
              '{count} file that Git does not know',
              '{count} files that Git does not know',
            )}
          </summary>
          <Rows
            rows={untracked.map((path) => [path, ''])}
            label={t('Files that Git does not know')}
          />
        </details>
      )}
    </div>
  );
}

const SIGNS = { added: '+', removed: '−', same: ' ', hunk: '', note: '' } as const;

function FileChanges(props: {
  readonly file: PatchFile;
  readonly shownCount: number;
}): JSX.Element {
  const { file, shownCount } = props;
  return (
    <details class="diff card" open>
      <summary>
        <span class="mono breakable">{file.path === '' ? t('patch') : file.path}</span>{' '}
        <span class="diff-added">+{formatCount(file.added)}</span>{' '}
        <span class="diff-removed">−{formatCount(file.removed)}</span>
      </summary>
      {shownCount > 0 && (
        <div
          class="diff-lines"
          tabIndex={0}
          role="region"
          aria-label={t('Changes of {file}', { file: file.path })}
        >
          <ol dir="ltr">
            {file.lines.slice(0, shownCount).map(({ kind, text }, at) => (
              // oxlint-disable-next-line react/no-array-index-key -- lines of a patch do not move
              <li key={at} data-kind={kind}>
                <span class="diff-sign">{SIGNS[kind]}</span>
                {text === '' ? ' ' : text}
              </li>
            ))}
          </ol>
        </div>
      )}
    </details>
  );
}

function Versions({ packages }: Pick<CodeState, 'packages'>): JSX.Element | null {
  const all = Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (all.length === 0) return null;
  return (
    <div>
      <SectionHead title={t('Packages')}>
        <span class="quiet">{formatCount(all.length)}</span>
      </SectionHead>
      <Rows rows={all} label={t('Packages')} />
    </div>
  );
}

function Scripts({ scripts }: Pick<CodeState, 'scripts'>): JSX.Element | null {
  if (scripts.length === 0) return null;
  return (
    <div>
      <SectionHead title={t('Scripts')} />
      <Rows
        label={t('Scripts')}
        rows={scripts.map(({ isEntry, path, sha256 }) => [
          isEntry ? t('{path} (entry)', { path }) : path,
          sha256 === null ? t('no hash: the script could not be read') : sha256.slice(0, 12),
        ])}
      />
    </div>
  );
}

/** Names and what belongs to them. */
function Rows(props: {
  readonly rows: readonly (readonly [name: string, value: string])[];
  readonly label: string;
}): JSX.Element {
  const { label, rows } = props;
  const shownCount = useSignal(SHOWN_ROWS);
  const hidden = rows.length - shownCount.value;
  return (
    <>
      <ul class="code-rows small" aria-label={label}>
        {rows.slice(0, shownCount.value).map(([name, value]) => (
          <li key={name} class="row gap-12 baseline">
            <span class="mono breakable">{name}</span>
            {value !== '' && <span class="quiet mono">{value}</span>}
          </li>
        ))}
      </ul>
      {hidden > 0 && (
        <Button isSmall onClick={adding(shownCount, SHOWN_ROWS)}>
          {t('Show {count} more', { count: formatCount(Math.min(hidden, SHOWN_ROWS)) })}
        </Button>
      )}
    </>
  );
}
