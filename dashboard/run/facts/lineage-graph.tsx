/** The line of a run as a small graph: each run is a link to its page. */
import type { JSX } from 'preact';
import { shortId } from '../../parts/format.ts';
import { usePromise } from '../../parts/hooks.ts';
import { t, tn } from '../../parts/t.ts';
import { whenQuiet } from '../../parts/turns.ts';
import { hrefOf } from '../../route/route.ts';
import type { RunFeed } from '../../series/run-feed.ts';
import { Folding } from './folding.tsx';
import { layoutLineage, readLineage, type LineageNode } from './lineage.ts';

const ROW_PX = 32;
const COLUMN_PX = 16;
/** Further to the right there is no room for names. */
const MAX_COLUMN = 6;
const RADIUS_PX = 4.5;

/** A section of the facts; nothing for a run that has neither a parent nor children, and was never resumed. */
export function LineageFacts({ feed }: { readonly feed: RunFeed }): JSX.Element | null {
  const { reader, run } = feed;
  // Read again when the run changes: a child may have been started since.
  const { found } = usePromise(`${run.id} ${run.updatedAt}`, async () => {
    await whenQuiet();
    return readLineage(reader.store, reader);
  });
  if (found === undefined) return null;
  const { hasMore, runs } = found.value;
  if (runs.length < 2) return null;
  return (
    <Folding title={t('Lineage')}>
      <LineageGraph nodes={layoutLineage(runs, run.id)} shownId={run.id} />
      {hasMore && <p class="quiet small">{t('The line has more runs than are shown here.')}</p>}
    </Folding>
  );
}

function LineageGraph(props: {
  readonly nodes: readonly LineageNode[];
  readonly shownId: string;
}): JSX.Element {
  const { nodes, shownId } = props;
  const columns = Math.min(MAX_COLUMN, Math.max(0, ...nodes.map(({ column }) => column)));
  const width = (columns + 1) * COLUMN_PX;
  const byId = new Map(nodes.map((node) => [node.run.id, node]));
  return (
    <div class="lineage">
      <svg width={width} height={nodes.length * ROW_PX} aria-hidden="true">
        {nodes.map((node) => {
          const parent = byId.get(node.run.parentId ?? '');
          return parent === undefined ? null : <path key={node.run.id} d={edgeOf(parent, node)} />;
        })}
        {nodes.map((node) => (
          <circle
            key={node.run.id}
            cx={xOf(node)}
            cy={yOf(node)}
            r={RADIUS_PX}
            data-status={node.run.status ?? 'gone'}
            data-shown={node.run.id === shownId}
          />
        ))}
      </svg>
      <ol>
        {nodes.map((node) => (
          <LineageRow key={node.run.id} node={node} isShown={node.run.id === shownId} />
        ))}
      </ol>
    </div>
  );
}

function xOf({ column }: LineageNode): number {
  return (Math.min(column, MAX_COLUMN) + 0.5) * COLUMN_PX;
}

function yOf({ row }: LineageNode): number {
  return (row + 0.5) * ROW_PX;
}

/** Straight down, or down and then to the right. */
function edgeOf(from: LineageNode, to: LineageNode): string {
  const [x, toX, y, toY] = [xOf(from), xOf(to), yOf(from), yOf(to)];
  return x === toX
    ? `M${x} ${y}V${toY}`
    : `M${x} ${y}V${toY - 8}Q${x} ${toY} ${x + 8} ${toY}H${toX}`;
}

function LineageRow(props: { readonly node: LineageNode; readonly isShown: boolean }): JSX.Element {
  const { id, name, resumeCount, status } = props.node.run;
  const label = name ?? shortId(id);
  return (
    <li class="row gap-6" data-shown={props.isShown}>
      {props.isShown ? (
        <strong class="ellipsis" aria-current="true" dir="auto">
          {label}
        </strong>
      ) : (
        <a
          class="link-text ellipsis"
          href={hrefOf({ kind: 'run', runId: id })}
          title={name ?? id}
          dir="auto"
        >
          {label}
        </a>
      )}
      {resumeCount > 0 && (
        <span class="badge">
          {tn(resumeCount, 'resumed {count} time', 'resumed {count} times')}
        </span>
      )}
      {status !== null && status !== 'completed' && (
        <span class="quiet small">{statusWord(status)}</span>
      )}
      {status === null && <span class="quiet small">{t('not here')}</span>}
    </li>
  );
}

function statusWord(status: NonNullable<LineageNode['run']['status']>): string {
  switch (status) {
    case 'running':
      return t('live');
    case 'failed':
      return t('failed');
    case 'interrupted':
      return t('interrupted');
    case 'completed':
      return t('completed');
  }
}
