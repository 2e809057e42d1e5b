/** One run in the list. */
import type { ReadonlySignal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { hasTimes, type RunSummary, type Store } from 'quark-sdk';
import { RunMenu } from '../changes/run-actions.tsx';
import { isBeingImported } from '../dropped/dropped-files.ts';
import { formatAgo, formatValue, shortId } from '../parts/format.ts';
import { useOnScreen } from '../parts/hooks.ts';
import { runSpanMs, shownStatus, spanText, StatusChip } from '../parts/run-status.tsx';
import { hrefOf } from '../route/route.ts';
import { SPARK_HEIGHT, SPARK_WIDTH, type PreviewCache, type RunPreview } from './preview.ts';

const SHOWN_TAGS = 4;

/** A row: status, name, tags, loss, times. Its preview is read once it comes into view. */
export function RunRow(props: {
  readonly summary: RunSummary;
  readonly previews: PreviewCache;
  readonly now: ReadonlySignal<number>;
  readonly onTag: (tag: string) => void;
  /** What the run is called in this list. */
  readonly name: string;
  readonly isPicked: boolean;
  readonly onPick: () => void;
  /** Where the run is archived, deleted and restored; undefined where it cannot be. */
  readonly deletesFrom: Store | undefined;
}): JSX.Element {
  const { summary, previews, deletesFrom } = props;
  const { run } = summary;
  const row = useRef<HTMLTableRowElement>(null);
  useWanted(row, summary, previews);
  const preview = previews.of(run.id).value;
  const now = props.now.value;
  return (
    <tr ref={row} class="run-row" data-run={run.id}>
      <td class="col-pick">
        <input
          type="checkbox"
          aria-label={`Compare ${props.name} ${shortId(run.id)}`}
          checked={props.isPicked}
          onChange={props.onPick}
        />
      </td>
      <td class="col-status">
        <StatusChip status={isBeingImported(run) ? 'importing' : shownStatus(summary)} />
      </td>
      <td class="col-run">
        <a class="run-link" href={hrefOf({ kind: 'run', runId: run.id })}>
          <span class="run-project breakable">{props.name}</span>
          <span class="run-id quiet code">{shortId(run.id)}</span>
        </a>
      </td>
      <td class="col-tags">
        <Tags tags={run.tags} onTag={props.onTag} />
      </td>
      <td class="col-loss">
        <Loss preview={preview} />
      </td>
      {hasTimes(run) ? (
        <td class="col-started" title={new Date(run.startedAt).toLocaleString()}>
          {formatAgo(Date.parse(run.startedAt), now)}
        </td>
      ) : (
        <td class="col-started" title="The imported file has no times">
          –
        </td>
      )}
      <td class="col-duration">
        {spanText(run, runSpanMs(summary, now, preview?.lastActivityMs))}
      </td>
      {deletesFrom !== undefined && (
        <td class="col-actions">
          <RunMenu
            target={{
              store: deletesFrom,
              runId: run.id,
              name: `${props.name} ${shortId(run.id)}`,
            }}
            isLive={summary.effectiveStatus === 'running'}
            isArchived={summary.archivedAtMs !== undefined}
          />
        </td>
      )}
    </tr>
  );
}

/** Has the preview of a run read while its row is on screen. */
function useWanted(
  row: RefObject<Element | null>,
  summary: RunSummary,
  previews: PreviewCache,
): void {
  const isOnScreen = useRef(false);
  const latest = useRef(summary);
  latest.current = summary;
  useOnScreen(row, (isNow) => {
    isOnScreen.current = isNow;
    if (isNow) previews.want(latest.current);
  });
  useEffect(() => {
    if (isOnScreen.current) previews.want(summary);
  }, [summary, previews]);
}

function Tags(props: {
  readonly tags: readonly string[];
  readonly onTag: (tag: string) => void;
}): JSX.Element {
  const { tags } = props;
  return (
    <span class="inline wrap gap-5 tags">
      {tags.slice(0, SHOWN_TAGS).map((tag) => (
        <button
          key={tag}
          type="button"
          class="tag"
          title={`Show only runs tagged ${tag}`}
          onClick={() => props.onTag(tag)}
        >
          {tag}
        </button>
      ))}
      {tags.length > SHOWN_TAGS && (
        <span class="tag tag-more" title={tags.slice(SHOWN_TAGS).join(', ')}>
          +{tags.length - SHOWN_TAGS}
        </span>
      )}
    </span>
  );
}

/** The curve of the loss, and its last value. */
function Loss({ preview }: { readonly preview: RunPreview | undefined }): JSX.Element {
  const { key, last } = preview ?? {};
  return (
    <span class="loss row">
      {preview === undefined ? (
        <span class="skeleton spark-skeleton" />
      ) : (
        <svg
          class="spark"
          viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
          role="img"
          aria-label={key === undefined ? 'No loss recorded' : `Curve of ${key}`}
        >
          <path d={preview.path} />
        </svg>
      )}
      <span
        class={`loss-value${last !== undefined && !Number.isFinite(last) ? ' is-bad' : ''}`}
        title={key}
      >
        {last === undefined ? '–' : formatValue(last)}
      </span>
    </span>
  );
}
