/** Tables: sorted, filtered, with the images that cells name. */
import type { JSX } from 'preact';
import type { MediaItem, TableCell } from 'quark-sdk/media';
import { useContent } from '../content.ts';
import { Picture } from '../image/picture.tsx';
import { ContentProblem } from '../item-caption.tsx';
import { MediaGrid } from '../media-grid.tsx';
import type { KindProps } from '../kind-view.ts';
import { mediaOf, type MediaRun } from '../media-feed.ts';
import { itemNear, positionOf } from '../media-steps.ts';
import { DataTable } from './data-table.tsx';
import { imageKeyOf } from './table-rows.ts';

const IMAGE_PX = 48;
const IMAGE_ROW_PX = 60;

/** The tables of runs. */
export default function TablesView({ keys, runs, step }: KindProps): JSX.Element {
  return (
    <MediaGrid kind="table" class="table-list" keys={keys} runs={runs} step={step}>
      {({ item, run }) => <LoadedTable run={run} item={item} />}
    </MediaGrid>
  );
}

function LoadedTable(props: {
  readonly run: MediaRun;
  readonly item: MediaItem<'table'>;
}): JSX.Element {
  const { item, run } = props;
  const { found, error } = useContent(run.source, item);
  if (error !== undefined) return <ContentProblem error={error} />;
  if (found === undefined) return <span class="skeleton" style={{ width: '60%' }} />;
  const table = found.value;
  const hasImages = table.rows.slice(0, 50).some((row) => row.some((cell) => imageKeyOf(cell)));
  const images = hasImages ? mediaOf(run, 'image') : [];
  const cellView = (cell: TableCell): JSX.Element | undefined => {
    const key = imageKeyOf(cell);
    if (key === undefined) return undefined;
    const image = itemNear(
      images.filter((one) => one.key === key),
      positionOf(item),
    );
    if (image === undefined) return undefined;
    const appearance = { sidePx: IMAGE_PX, isPixelated: true, hasOverlays: false };
    return <Picture key={image.record.id} run={run} item={image} appearance={appearance} />;
  };
  return (
    <DataTable
      label={item.key}
      table={table}
      {...(hasImages ? { cellView, rowPx: IMAGE_ROW_PX } : {})}
    />
  );
}
