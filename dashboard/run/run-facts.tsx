/** What a run was made of: identity, lineage, configuration, environment. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { RunRecord } from 'quark-sdk';
import { hrefOf } from '../route/route.ts';
import { formatCount, formatDuration, shortId } from '../parts/format.ts';
import { Icon } from '../parts/icons.tsx';
import { CopyButton } from '../parts/parts.tsx';

/** The column beside the charts. */
export function RunFacts({ run }: { readonly run: RunRecord }): JSX.Element {
  const endedMs = run.endedAt === null ? undefined : Date.parse(run.endedAt);
  return (
    <aside class="facts" aria-label="About this run">
      <section>
        <h2>Run</h2>
        <dl class="fact-list">
          <Fact name="id">
            <span class="mono breakable">{run.id}</span>
          </Fact>
          <Fact name="started">{instant(run.startedAt)}</Fact>
          {endedMs !== undefined && endedMs > Date.parse(run.startedAt) && (
            <Fact name="ended">
              {instant(run.endedAt ?? '')}
              <span class="quiet">
                {' '}
                after {formatDuration(endedMs - Date.parse(run.startedAt))}
              </span>
            </Fact>
          )}
          {run.resumeCount > 0 && (
            <Fact name="resumed">
              {run.resumeCount} {run.resumeCount === 1 ? 'time' : 'times'}
            </Fact>
          )}
          {run.parentRunId !== null && (
            <Fact name="parent">
              <a class="link mono" href={hrefOf({ kind: 'run', runId: run.parentRunId })}>
                <Icon name="parent" /> {shortId(run.parentRunId)}
              </a>
            </Fact>
          )}
          {run.lineageRootRunId !== run.id && run.lineageRootRunId !== run.parentRunId && (
            <Fact name="first of line">
              <a class="link mono" href={hrefOf({ kind: 'run', runId: run.lineageRootRunId })}>
                {shortId(run.lineageRootRunId)}
              </a>
            </Fact>
          )}
          {run.gitCommit !== null && (
            <Fact name="commit">
              <span class="mono" title={run.gitCommit}>
                {run.gitCommit.slice(0, 10)}
              </span>
            </Fact>
          )}
          <Fact name="stored in">
            <span class="mono breakable">{run.runPath}</span>
          </Fact>
          {run.strictMode && <Fact name="strict mode">on</Fact>}
        </dl>
      </section>
      <JsonSection title="Config" value={run.config} />
      <JsonSection title="Environment" value={run.environment} />
    </aside>
  );
}

function Fact(props: {
  readonly name: string;
  readonly children: JSX.Element | JSX.Element[] | string | (string | number | JSX.Element)[];
}): JSX.Element {
  return (
    <div class="fact">
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
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
  readonly value: Readonly<Record<string, unknown>>;
}): JSX.Element {
  const entries = Object.entries(props.value);
  return (
    <section>
      <header class="fact-head">
        <h2>{props.title}</h2>
        {entries.length > 0 && (
          <CopyButton
            text={JSON.stringify(props.value, undefined, 2)}
            label={`Copy the ${props.title.toLowerCase()} as JSON`}
          />
        )}
      </header>
      {entries.length === 0 ? <p class="quiet">Empty.</p> : <JsonFields value={props.value} />}
    </section>
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
        <button
          type="button"
          class="button button-small fact-more"
          onClick={() => {
            shownCount.value += SHOWN_MORE;
          }}
        >
          Show {formatCount(Math.min(hiddenCount, SHOWN_MORE))} more
        </button>
      )}
    </>
  );
}

/** Fields within a field; those of large ones are made when somebody looks. */
function NestedField(props: { readonly name: string; readonly value: object }): JSX.Element {
  const isOpen = useSignal(Object.keys(props.value).length <= SHOWN_FIELDS / 2);
  return (
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
  );
}

function FieldList(props: { readonly fields: readonly [string, unknown][] }): JSX.Element {
  return (
    <dl class="fact-list">
      {props.fields.map(([name, field]) =>
        isNested(field) ? (
          <NestedField key={name} name={name} value={field} />
        ) : (
          <div key={name} class="fact">
            <dt>{breakable(name)}</dt>
            <dd class="mono breakable">{leafText(field)}</dd>
          </div>
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
