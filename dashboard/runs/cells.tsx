/** What the cells of a run show. */
import type { FoundRun, RunValue } from 'quark-sdk/workspace';
import { useComputed, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { isBeingImported } from '../dropped/dropped-files.ts';
import { CutName } from '../parts/cut-text.tsx';
import {
  formatAgo,
  formatCount,
  formatDuration,
  formatMetric,
  formatValue,
  shortId,
} from '../parts/format.ts';
import { shownStatus, StatusChip } from '../parts/run-status.tsx';
import { t } from '../parts/t.ts';
import { hrefOf } from '../route/route.ts';
import { CURVE_PREFIX } from './model/columns.ts';
import { SPARK_HEIGHT, SPARK_WIDTH, type CurveCache } from './model/curve-cache.ts';
import { toggleTag } from './list-state.ts';
import { NameField } from './name-field.tsx';

/** What cells need besides their run. */
export type CellContext = {
  readonly now: ReadonlySignal<number>;
  readonly curves: CurveCache;
  /** The run whose name is being changed in its row. */
  readonly renamed: ReadonlySignal<string | undefined>;
  readonly onRename: (row: FoundRun, name: string | undefined) => void;
  readonly onNotes: (row: FoundRun) => void;
  /** Whether names and notes can be changed. */
  readonly mayEdit: boolean;
  /** Whether those of this run can be: its project may be shared for reading only. */
  readonly mayEditRow: (row: FoundRun) => boolean;
};

/** What a cell shows: its content, all of it as a text, and how it stands. */
export type CellProps = {
  readonly row: FoundRun;
  readonly path: string;
  readonly context: CellContext;
};

/** The content of a cell. */
export function CellContent(props: CellProps): JSX.Element {
  const { row, path, context } = props;
  if (path.startsWith(CURVE_PREFIX)) return <Curve {...props} />;
  switch (path) {
    case 'name':
      return <Name {...props} />;
    case 'status':
      return <Status row={row} />;
    case 'tags':
      return <Tags tags={row.tags} />;
    case 'durationMs':
      return <Duration row={row} now={context.now} />;
    case 'startedAt':
    case 'endedAt':
    case 'updatedAt':
      return <Ago atMs={instantOf(row, path)} now={context.now} />;
    case 'notes':
      return <Notes {...props} />;
    default:
      return <PlainValue path={path} value={row.values[path]} />;
  }
}

/** All of what a cell says, for its tip; undefined where the cell says all by itself. */
export function cellTip(row: FoundRun, path: string): string | undefined {
  if (path.startsWith(CURVE_PREFIX)) return undefined;
  switch (path) {
    case 'name':
      return `${nameOf(row)}\n${row.id}`;
    case 'status':
      return problemOf(row) ?? reasonOf(row);
    case 'tags':
      return row.tags.join(', ');
    case 'startedAt':
    case 'endedAt':
    case 'updatedAt': {
      const atMs = instantOf(row, path);
      return atMs === undefined ? undefined : new Date(atMs).toLocaleString();
    }
    default:
      return valueTip(path, row);
  }
}

/** Whether a tip says more than its cell shows. */
export function hasTipAlways(row: FoundRun, path: string): boolean {
  return (
    row.steps[path] !== undefined ||
    path.endsWith('At') ||
    (path === 'status' && (problemOf(row) ?? reasonOf(row)) !== undefined)
  );
}

function valueTip(path: string, row: FoundRun): string | undefined {
  const value = row.values[path];
  if (value === undefined) return undefined;
  const step = row.steps[path];
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  return step === undefined
    ? text
    : t('{value} at step {step}', { value: text, step: formatCount(step) });
}

/** What a run is called in the list. */
export function nameOf(row: FoundRun): string {
  return row.name ?? row.project;
}

function Name({ row, context }: CellProps): JSX.Element {
  const name = nameOf(row);
  const isRenamed = useComputed(() => context.renamed.value === row.id);
  if (isRenamed.value)
    return <NameField name={row.name ?? ''} onDone={(given) => context.onRename(row, given)} />;
  return (
    <a
      class="run-link"
      href={hrefOf({ kind: 'run', runId: row.id })}
      data-tip={cellTip(row, 'name')}
    >
      <span class="run-project">
        <CutName text={name} />
      </span>
      <span class="run-id quiet code">{shortId(row.id)}</span>
    </a>
  );
}

/** Why the record of a run cannot be read: what the row shows is what the store knows besides. */
function problemOf({ values }: FoundRun): string | undefined {
  const { problem } = values;
  return typeof problem === 'string' ? problem : undefined;
}

function reasonOf({ values }: FoundRun): string | undefined {
  const { statusReason: reason } = values;
  return typeof reason === 'string' && reason !== '' ? reason : undefined;
}

function Status({ row }: { readonly row: FoundRun }): JSX.Element {
  const [problem, reason] = [problemOf(row), reasonOf(row)];
  return (
    <span class="inline gap-6 cell-line">
      <StatusChip
        status={isImporting(row) ? 'importing' : shownStatus({ effectiveStatus: row.status })}
      />
      {problem === undefined ? (
        reason !== undefined && <span class="quiet small ellipsis">{reason}</span>
      ) : (
        <span class="is-bad small ellipsis">{t('Record unreadable')}</span>
      )}
    </span>
  );
}

function isImporting(row: FoundRun): boolean {
  const isComplete = row.values['importComplete'];
  return (
    isComplete === false &&
    isBeingImported({ environment: { import: { name: '', format: '', is_complete: false } } })
  );
}

function Tags({ tags }: { readonly tags: readonly string[] }): JSX.Element {
  return (
    <span class="cell-line tags">
      {tags.map((tag) => (
        <button
          key={tag}
          type="button"
          class="tag"
          tabIndex={-1}
          title={t('Show only runs tagged {tag}', { tag })}
          onClick={() => toggleTag(tag)}
        >
          {tag}
        </button>
      ))}
    </span>
  );
}

function Duration(props: {
  readonly row: FoundRun;
  readonly now: ReadonlySignal<number>;
}): JSX.Element {
  const { row } = props;
  if (row.isLive) return <>{formatDuration(props.now.value - row.startedAtMs)}</>;
  const known = row.values['durationMs'];
  const endMs = row.endedAtMs ?? row.updatedAtMs;
  const spanMs =
    typeof known === 'number' ? known : endMs === null ? Number.NaN : endMs - row.startedAtMs;
  return <>{row.startedAtMs === 0 ? '–' : formatDuration(spanMs)}</>;
}

function Ago(props: {
  readonly atMs: number | undefined;
  readonly now: ReadonlySignal<number>;
}): JSX.Element {
  const { atMs, now } = props;
  return <>{atMs === undefined ? '–' : formatAgo(atMs, now.value)}</>;
}

function instantOf(row: FoundRun, path: string): number | undefined {
  const known = { startedAt: row.startedAtMs, endedAt: row.endedAtMs, updatedAt: row.updatedAtMs };
  const atMs =
    path === 'startedAt' || path === 'endedAt' || path === 'updatedAt' ? known[path] : null;
  // Files without times: the epoch.
  return atMs === null || row.startedAtMs === 0 ? undefined : atMs;
}

function Notes({ row, context }: CellProps): JSX.Element {
  const value = row.values['notes'];
  const text = typeof value === 'string' ? value : '';
  if (!context.mayEditRow(row)) return <span class="ellipsis">{text}</span>;
  return (
    <button
      type="button"
      class="cell-button ellipsis"
      tabIndex={-1}
      onClick={() => context.onNotes(row)}
    >
      {text === '' ? <span class="quiet">{t('Add notes')}</span> : text.split('\n', 1)[0]}
    </button>
  );
}

function PlainValue(props: {
  readonly path: string;
  readonly value: RunValue | undefined;
}): JSX.Element {
  const { path, value } = props;
  if (value === undefined) return <span class="quiet">–</span>;
  if (typeof value === 'number')
    return <span class={Number.isFinite(value) ? '' : 'is-bad'}>{numberText(path, value)}</span>;
  if (typeof value === 'boolean') return <>{value ? t('yes') : t('no')}</>;
  return <CutName text={typeof value === 'string' ? value : value.join(', ')} />;
}

/** A number of a column. */
export function numberText(path: string, value: number): string {
  const metric = /^metrics\.(.+)\.\w+$/.exec(path);
  return metric === null ? formatValue(value) : formatMetric(metric[1] ?? '', value);
}

/** The curve of a metric, and its last value. */
function Curve({ row, path, context }: CellProps): JSX.Element {
  const metric = path.slice(CURVE_PREFIX.length);
  const { curves } = context;
  const stamp = `${row.updatedAtMs} ${row.status}`;
  const { id, isLive } = row;
  const beat = isLive ? context.now.value : 0;
  useEffect(() => curves.want({ id, stamp, isLive }, metric), [id, stamp, isLive, metric, beat]);
  const { key, last, path: drawn = '' } = curves.of(id, metric).value ?? {};
  const isRead = curves.of(id, metric).value !== undefined;
  return (
    <span class="loss row">
      {isRead ? (
        <svg
          class="spark"
          viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={key === undefined ? t('No values recorded') : t('Curve of {key}', { key })}
        >
          <path d={drawn} />
        </svg>
      ) : (
        <span class="skeleton spark-skeleton" />
      )}
      <span
        class={`loss-value${last !== undefined && !Number.isFinite(last) ? ' is-bad' : ''}`}
        title={key}
      >
        {last === undefined ? '–' : formatMetric(key ?? '', last)}
      </span>
    </span>
  );
}
