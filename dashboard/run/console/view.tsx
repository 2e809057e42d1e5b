/** The "Console" tab: what the program of a run printed. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { CONSOLE_SOURCES } from 'quark-sdk/console';
import { downloadName, saveBlob } from '../../charts/save/save-file.ts';
import { useActions } from '../../parts/actions.ts';
import { plainText, type AddressText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { Button, Chip, CopyButton } from '../../parts/controls.tsx';

import { formatCount } from '../../parts/format.ts';
import { ErrorNotice, HowTo, Waiting, Warning } from '../../parts/notices.tsx';
import { toggled, toggling } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { hrefOf } from '../../route/route.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import {
  lineSpans,
  lineText,
  type ConsoleAnswer,
  type ConsoleColumns,
} from '../../worker/console-columns.ts';
import type { TabProps } from '../feed/tab.ts';
import { useConsole } from './feed.ts';
import { ConsoleLines, LineText } from './lines.tsx';
import {
  LEVEL_CHOICES,
  levelCounts,
  lineLevel,
  matchingLines,
  type LevelChoice,
} from './matching.ts';
import './style.css';

const LEVELS: AddressText<ReadonlySet<LevelChoice>> = {
  write: (value) =>
    value.size === 0 ? undefined : LEVEL_CHOICES.filter((one) => value.has(one)).join(),
  read: (text) => new Set(LEVEL_CHOICES.filter((one) => text?.split(',').includes(one))),
};
const LINE: AddressText<number | undefined> = {
  write: (value) => (value === undefined ? undefined : String(value)),
  read: (text) => (text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined),
};

/** Characters of a line by itself. */
const MOST_SHOWN_CHARS = 20_000;

/** The "Console" tab. */
export default function ConsoleView({ feed, watch }: TabProps): JSX.Element {
  void watch.nowMs.value;
  const { answer, error, retry } = useConsole(feed);
  const found = answer.value;
  if (found === undefined) {
    if (error.value === undefined) return <Waiting label={t('Reading the console')} />;
    return (
      <ErrorNotice title={t('The console cannot be read')} error={error.value} onRetry={retry} />
    );
  }
  if (found.storedLines === 0 && found.problems.length === 0)
    return (
      <HowTo
        title={feed.isLive ? t('No lines yet') : t('The console was not captured')}
        text={t(
          'What the program prints is recorded with its levels and colours, without keys and tokens.',
        )}
        code={`import { captureConsole } from 'quark-sdk/console';\n\nconst capture = captureConsole(session);`}
      />
    );
  return (
    <Console feed={feed} answer={answer} found={found} hasFailed={error.value !== undefined} />
  );
}

type ConsoleProps = {
  readonly feed: RunFeed;
  readonly answer: ReadonlySignal<ConsoleAnswer | undefined>;
  readonly found: ConsoleAnswer;
  readonly hasFailed: boolean;
};

function Console({ answer, feed, found, hasFailed }: ConsoleProps): JSX.Element {
  const columns = useComputed(() => answer.value?.columns ?? found.columns);
  const chosen = useSignal<number | undefined>(undefined);
  const levels = useSignal<ReadonlySet<LevelChoice>>(new Set());
  const search = useSignal('');
  useAddressed('line', chosen, LINE);
  useAddressed('level', levels, LEVELS);
  useAddressed('find', search, plainText());
  const isFollowing = useSignal(feed.isLive && chosen.peek() === undefined);
  const matches = useMatches(columns, levels, search);
  const firstNumber = found.storedLines - columns.value.ends.length + 1;
  return (
    <section class="console column gap-12" aria-label={t('Console')}>
      <ConsoleBar
        columns={columns.value}
        levels={levels}
        search={search}
        isFollowing={isFollowing}
        runName={feed.run.name ?? feed.run.id}
      />
      <Losses found={found} shownCount={columns.value.ends.length} hasFailed={hasFailed} />
      {matches.value !== undefined && (
        <p class="quiet small" role="status">
          {tn(matches.value.length, '{count} line of {total}', '{count} lines of {total}', {
            count: formatCount(matches.value.length),
            total: formatCount(columns.value.ends.length),
          })}
        </p>
      )}
      <ConsoleLines
        columns={columns}
        matches={matches}
        firstNumber={firstNumber}
        search={search.value}
        isFollowing={isFollowing}
        chosen={chosen}
      />
      <ChosenLine feed={feed} found={found} chosen={chosen} firstNumber={firstNumber} />
    </section>
  );
}

/** What is shown of the lines, and where to. */
function ConsoleBar(props: {
  readonly columns: ConsoleColumns;
  readonly levels: Signal<ReadonlySet<LevelChoice>>;
  readonly search: Signal<string>;
  readonly isFollowing: Signal<boolean>;
  readonly runName: string;
}): JSX.Element {
  const { columns, isFollowing, levels, search } = props;
  const field = useRef<HTMLInputElement>(null);
  const save = (): void =>
    saveBlob(
      downloadName([props.runName, 'console'], 'txt'),
      new Blob([columns.text], { type: 'text/plain;charset=utf-8' }),
    );
  useActions(() => [
    {
      id: 'console.search',
      title: t('Search the console'),
      section: t('Console'),
      keys: '/',
      run: () => field.current?.focus(),
    },
    {
      id: 'console.follow',
      title: t('Follow the end of the console'),
      section: t('Console'),
      keys: 'f',
      run: toggling(isFollowing),
    },
    { id: 'console.save', title: t('Download the console'), section: t('Console'), run: save },
  ]);
  return (
    <div class="row wrap gap-8">
      <LevelChips counts={levelCounts(columns)} levels={levels} />
      <input
        ref={field}
        type="search"
        class="input grow console-search"
        placeholder={t('Search the lines')}
        aria-label={t('Search the lines')}
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
        }}
      />
      <Button isSmall aria-pressed={isFollowing.value} onClick={toggling(isFollowing)}>
        {t('Follow')}
      </Button>
      <Button isSmall onClick={save}>
        {t('Download')}
      </Button>
    </div>
  );
}

/** The lines that match, found in turns; while they are searched for, the ones of before are shown. */
function useMatches(
  columns: ReadonlySignal<ConsoleAnswer['columns']>,
  levels: Signal<ReadonlySet<LevelChoice>>,
  search: Signal<string>,
): ReadonlySignal<Uint32Array | undefined> {
  const matches = useSignal<Uint32Array | undefined>(undefined);
  useEffect(() => {
    const searching = new AbortController();
    const { signal } = searching;
    void matchingLines(columns.value, levels.value, search.value, signal).then((found) => {
      if (!signal.aborted) matches.value = found;
    });
    return () => searching.abort();
  }, [columns.value, levels.value, search.value]);
  return matches;
}

function LevelChips(props: {
  readonly counts: ReadonlyMap<LevelChoice, number>;
  readonly levels: Signal<ReadonlySet<LevelChoice>>;
}): JSX.Element {
  const { counts, levels } = props;
  const names: Readonly<Record<LevelChoice, string>> = {
    debug: t('debug'),
    log: t('log'),
    info: t('info'),
    warn: t('warnings'),
    error: t('errors'),
    none: t('streams'),
  };
  const there = LEVEL_CHOICES.filter((one) => (counts.get(one) ?? 0) > 0 || levels.value.has(one));
  return (
    <div class="row wrap gap-6" role="group" aria-label={t('Filter lines by level')}>
      {there.map((one) => (
        <Chip
          key={one}
          class="chip-small console-chip"
          data-level={one}
          isOn={levels.value.has(one)}
          count={formatCount(counts.get(one) ?? 0)}
          onClick={() => {
            levels.value = toggled(levels.value, one);
          }}
        >
          {names[one]}
        </Chip>
      ))}
    </div>
  );
}

/** What of the console is not shown. */
function Losses(props: {
  readonly found: ConsoleAnswer;
  readonly shownCount: number;
  readonly hasFailed: boolean;
}): JSX.Element {
  const { droppedLines, problems, storedLines } = props.found;
  return (
    <>
      {props.hasFailed && (
        <Warning>
          {t('New lines cannot be read just now. What is shown was read before; trying again.')}
        </Warning>
      )}
      {droppedLines > 0 && (
        <Warning>
          {tn(
            droppedLines,
            '{count} line was dropped: the program printed faster than it could be stored.',
            '{count} lines were dropped: the program printed faster than they could be stored.',
            { count: formatCount(droppedLines) },
          )}
        </Warning>
      )}
      {storedLines > props.shownCount && (
        <p class="quiet small">
          {t('The last {shown} of {all} lines. "quark console" writes all of them.', {
            shown: formatCount(props.shownCount),
            all: formatCount(storedLines),
          })}
        </p>
      )}
      {problems.map((problem) => (
        <Warning key={problem} isError>
          {problem}
        </Warning>
      ))}
    </>
  );
}

/** All of the line that the address names, in as many rows as it needs. */
function ChosenLine(props: {
  readonly feed: RunFeed;
  readonly found: ConsoleAnswer;
  readonly chosen: Signal<number | undefined>;
  readonly firstNumber: number;
}): JSX.Element | null {
  const { chosen, feed, firstNumber, found } = props;
  const number = chosen.value;
  if (number === undefined) return null;
  const { columns } = found;
  const line = number - firstNumber;
  if (line < 0 || line >= columns.ends.length)
    return (
      <p class="quiet">{t('Line {number} is not among the lines that were read.', { number })}</p>
    );
  const text = lineText(columns, line);
  const level = lineLevel(columns, line);
  const link = `${location.href.split('#')[0] ?? ''}${hrefOf({ kind: 'run', runId: feed.run.id, view: 'console' })}&line=${number}`;
  return (
    <section class="console-chosen card" aria-label={t('Line {number}', { number })}>
      <header class="row wrap gap-12 small quiet">
        <strong>{t('Line {number}', { number })}</strong>
        <span>{new Date(columns.timesMs[line] ?? 0).toLocaleString()}</span>
        <span>{CONSOLE_SOURCES[columns.sources[line] ?? 0]}</span>
        {level !== 'none' && <span>{level}</span>}
        <span class="push row">
          <CopyButton text={link} label={t('Copy a link to this line')}>
            {t('Link')}
          </CopyButton>
          <CopyButton text={text} label={t('Copy the line')}>
            {t('Text')}
          </CopyButton>
        </span>
      </header>
      <p class="console-whole code breakable" dir="ltr">
        <LineText text={text} spans={lineSpans(columns, line)} search="" chars={MOST_SHOWN_CHARS} />
        {text.length > MOST_SHOWN_CHARS && <span class="quiet"> …</span>}
      </p>
    </section>
  );
}
