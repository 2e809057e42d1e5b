/** One run in the list. */
import type { ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { RunSummary } from 'quark-sdk';
import { hrefOf } from '../route/route.ts';
import { formatAgo, formatDuration, formatValue, shortId } from '../parts/format.ts';
import { SPARK_HEIGHT, SPARK_WIDTH, type PreviewCache } from './preview.ts';
import { isBeingImported } from '../dropped/dropped-files.ts';
import { importOf } from '../parts/run-name.ts';
import { runSpanMs, shownStatus } from '../parts/run-filter.ts';
import { StatusChip } from '../parts/parts.tsx';

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
}): JSX.Element {
  const { summary, previews } = props;
  const { run } = summary;
  const row = useRef<HTMLTableRowElement>(null);
  const isOnScreen = useRef(false);
  const latest = useRef(summary);
  latest.current = summary;
  useEffect(() => {
    const element = row.current;
    if (element === null) return undefined;
    const observer = new IntersectionObserver((entries) => {
      isOnScreen.current = entries.at(-1)?.isIntersecting ?? false;
      if (isOnScreen.current) previews.want(latest.current);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [previews]);
  useEffect(() => {
    if (isOnScreen.current) previews.want(summary);
  }, [summary, previews]);

  const preview = previews.of(run.id).value;
  const now = props.now.value;
  const spanMs = runSpanMs(summary, now, preview?.lastActivityMs);
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
          <span class="run-project">{props.name}</span>
          <span class="run-id">{shortId(run.id)}</span>
        </a>
      </td>
      <td class="col-tags">
        <span class="tags">
          {run.tags.slice(0, SHOWN_TAGS).map((tag) => (
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
          {run.tags.length > SHOWN_TAGS && (
            <span class="tag-more" title={run.tags.slice(SHOWN_TAGS).join(', ')}>
              +{run.tags.length - SHOWN_TAGS}
            </span>
          )}
        </span>
      </td>
      <td class="col-loss">
        <span class="loss">
          {preview === undefined ? (
            <span class="skeleton spark-skeleton" />
          ) : (
            <svg
              class="spark"
              viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
              role="img"
              aria-label={
                preview.key === undefined ? 'No loss recorded' : `Curve of ${preview.key}`
              }
            >
              <path d={preview.path} />
            </svg>
          )}
          <span
            class={`loss-value${preview?.last !== undefined && !Number.isFinite(preview.last) ? ' is-bad' : ''}`}
            title={preview?.key}
          >
            {preview?.last === undefined ? '–' : formatValue(preview.last)}
          </span>
        </span>
      </td>
      <td class="col-started" title={new Date(run.startedAt).toLocaleString()}>
        {formatAgo(Date.parse(run.startedAt), now)}
      </td>
      <td class="col-duration">
        {spanMs === 0 && importOf(run) !== undefined ? '–' : formatDuration(spanMs)}
      </td>
    </tr>
  );
}
