/** What a run was made of: identity, lineage, configuration, environment. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { hasTimes, type RunReader, type RunRecord } from 'quark-sdk';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { formatCount, formatDuration } from '../../parts/format.ts';
import { adding } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { whenQuiet } from '../../parts/turns.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { environmentWords } from './environment-words.ts';
import { Folding } from './folding.tsx';
import { LineageFacts } from './lineage-graph.tsx';
import { readStoredRows, type StoredRowFacts } from './stored-rows.ts';
import { TimerFacts } from './timer-facts.tsx';
import './style.css';

/** The column beside the charts. */
export function FactColumn(props: {
  readonly feed: RunFeed;
  /** The clock of the page: the feed is the same object while it grows. */
  readonly nowMs: number;
}): JSX.Element {
  const { feed, nowMs } = props;
  const { run } = feed;
  return (
    <aside class="facts" aria-label={t('About this run')}>
      <Folding title={t('Run')}>
        <RunFacts feed={feed} />
      </Folding>
      <LineageFacts feed={feed} />
      <TimerFacts feed={feed} nowMs={nowMs} />
      <JsonSection title={t('Configuration')} value={run.config} />
      {Object.keys(run.summary).length > 0 && (
        <JsonSection title={t('Results')} value={run.summary} />
      )}
      {Object.keys(run.metadata).length > 0 && (
        <JsonSection title={t('Metadata')} value={run.metadata} />
      )}
      <JsonSection
        title={t('Environment')}
        value={run.environment}
        shown={environmentWords(run.environment)}
      />
    </aside>
  );
}

function RunFacts({ feed }: { readonly feed: RunFeed }): JSX.Element {
  const { run, reader } = feed;
  const { configHash, configRevision, gitCommit, jobType } = run;
  return (
    <dl class="fact-list">
      <Fact name={t('id')}>
        <span class="mono breakable">{run.id}</span>
      </Fact>
      <Fact name={t('project')}>
        <span class="breakable" dir="auto">
          {run.projectName}
        </span>
      </Fact>
      {jobType !== null && <Fact name={t('job type')}>{jobType}</Fact>}
      {hasTimes(run) && <Fact name={t('started')}>{instant(run.startedAt)}</Fact>}
      <Ended run={run} />
      {run.resumeCount > 0 && (
        <Fact name={t('resumed')}>{tn(run.resumeCount, '{count} time', '{count} times')}</Fact>
      )}
      {configHash !== null && (
        <Fact name={t('configuration')}>
          <span class="mono" title={configHash}>
            {configHash.slice(0, 12)}
          </span>
          {configRevision !== null && (
            <span class="quiet">
              {' '}
              {t('revision {number}', { number: formatCount(configRevision) })}
            </span>
          )}
        </Fact>
      )}
      {gitCommit !== null && (
        <Fact name={t('commit')}>
          <span class="mono" title={gitCommit}>
            {gitCommit.slice(0, 10)}
          </span>
        </Fact>
      )}
      <Fact name={t('stored in')}>
        <span class="mono breakable">{run.runPath.replace(/([^:])\/{2,}/g, '$1/')}</span>
      </Fact>
      {run.strictMode && <Fact name={t('strict mode')}>{t('on')}</Fact>}
      <StoredRows reader={reader} changedAt={run.updatedAt} />
    </dl>
  );
}

/** What the curves do not show. It is read again when the run has changed, as it does when it is resumed or ends. */
function StoredRows(props: {
  readonly reader: RunReader;
  readonly changedAt: string;
}): JSX.Element {
  const { changedAt, reader } = props;
  const facts = useSignal<StoredRowFacts | undefined>(undefined);
  useEffect(() => {
    let isGone = false;
    // The page says elsewhere what cannot be read.
    whenQuiet()
      .then(() => readStoredRows(reader))
      .then(
        (found) => {
          if (!isGone) facts.value = found;
        },
        () => undefined,
      );
    return () => {
      isGone = true;
    };
  }, [reader.run.id, changedAt]);
  const { downsampled, superseded } = facts.value ?? {};
  return (
    <>
      {superseded !== undefined && <Fact name={t('superseded')}>{superseded}</Fact>}
      {downsampled !== undefined && <Fact name={t('downsampled')}>{downsampled}</Fact>}
    </>
  );
}

function Ended({ run }: { readonly run: RunRecord }): JSX.Element | null {
  const { endedAt, startedAt } = run;
  const spanMs = endedAt === null ? 0 : Date.parse(endedAt) - Date.parse(startedAt);
  if (endedAt === null || spanMs <= 0 || !hasTimes(run)) return null;
  return (
    <Fact name={t('ended')}>
      {instant(endedAt)}
      <span class="quiet"> {t('after {time}', { time: formatDuration(spanMs) })}</span>
    </Fact>
  );
}

function Fact(props: {
  readonly name: ComponentChildren;
  readonly isCode?: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="fact">
      <dt class="quiet">{props.name}</dt>
      <dd class={props.isCode === true ? 'mono breakable' : ''}>{props.children}</dd>
    </div>
  );
}

function instant(iso: string): string {
  const date = new Date(iso);
  const day = date.toLocaleDateString([], { day: 'numeric', month: 'short', year: 'numeric' });
  return `${day}, ${date.toLocaleTimeString([], { hour12: false })}`;
}

function JsonSection(props: {
  readonly title: string;
  /** What is copied. */
  readonly value: Readonly<Record<string, unknown>>;
  /** What is shown instead of it. */
  readonly shown?: Readonly<Record<string, unknown>>;
}): JSX.Element {
  const { title, value } = props;
  const isEmpty = Object.keys(value).length === 0;
  return (
    <Folding
      title={title}
      action={
        !isEmpty && (
          <CopyButton
            text={JSON.stringify(value, undefined, 2)}
            label={t('Copy as JSON: {title}', { title })}
          />
        )
      }
    >
      {isEmpty ? <p class="quiet">{t('Empty.')}</p> : <JsonFields value={props.shown ?? value} />}
    </Folding>
  );
}

/** Fields that are there at first: other tools record thousands. */
const SHOWN_FIELDS = 40;
const SHOWN_MORE = 400;

function JsonFields({ value }: { readonly value: object }): JSX.Element {
  const shownCount = useSignal(SHOWN_FIELDS);
  const all: readonly [string, unknown][] = Object.entries(value);
  const hiddenCount = all.length - shownCount.value;
  return (
    <>
      <FieldList fields={all.slice(0, shownCount.value)} />
      {hiddenCount > 0 && (
        <Button isSmall class="fact-more" onClick={adding(shownCount, SHOWN_MORE)}>
          {t('Show {count} more', { count: formatCount(Math.min(hiddenCount, SHOWN_MORE)) })}
        </Button>
      )}
    </>
  );
}

/** Fields within a field; those of large ones are made when they are opened. */
function NestedField(props: { readonly name: string; readonly value: object }): JSX.Element {
  const isOpen = useSignal(Object.keys(props.value).length <= SHOWN_FIELDS / 2);
  return (
    <div>
      <dt class="sr-only">{props.name}</dt>
      <dd>
        <details
          class="fact-nested"
          open={isOpen.value}
          onToggle={(event) => {
            isOpen.value = event.currentTarget.open;
          }}
        >
          <summary>{breakable(props.name)}</summary>
          {isOpen.value && <JsonFields value={props.value} />}
        </details>
      </dd>
    </div>
  );
}

function FieldList(props: { readonly fields: readonly [string, unknown][] }): JSX.Element {
  return (
    <dl class="fact-list">
      {props.fields.map(([name, field]) =>
        isNested(field) ? (
          <NestedField key={name} name={name} value={field} />
        ) : (
          <Fact key={name} name={breakable(name)} isCode>
            {leafText(field)}
          </Fact>
        ),
      )}
    </dl>
  );
}

/** A name that may break after its underscores, dots and slashes, so that it does not break inside a word. */
function breakable(name: string): (string | JSX.Element)[] {
  return name
    .split(/(?<=[_./-])/)
    .flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]));
}

/** Lists of plain values are one line; everything else with parts folds. */
function isNested(field: unknown): field is object {
  if (typeof field !== 'object' || field === null) return false;
  if (Array.isArray(field)) return field.some((item) => typeof item === 'object' && item !== null);
  return Object.keys(field).length > 0;
}

function leafText(field: unknown): string {
  if (field === null) return '–';
  if (Array.isArray(field)) return field.length === 0 ? '[]' : field.map(leafText).join(', ');
  return typeof field === 'string' ? field : JSON.stringify(field);
}
