/** Embeddings: vectors on their first two or three principal components, with their neighbours. */
import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import { createSeriesKernels, type PrincipalComponents } from 'quark-sdk/kernels';
import type { MediaContent, MediaItem } from 'quark-sdk/media';
import { pngOfCanvas } from '../../charts/save/save-png.ts';
import { choiceText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { Segmented } from '../../parts/controls.tsx';
import { formatCount, formatValue } from '../../parts/format.ts';
import { usePromise } from '../../parts/hooks.ts';
import { setterOf, setting } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import { seriesColor } from '../../theme/palette.ts';
import { loadContent } from '../content.ts';
import { ContentProblem } from '../item-caption.tsx';
import type { KindProps } from '../kind-view.ts';
import type { MediaRun } from '../media-feed.ts';
import { MediaGrid } from '../media-grid.tsx';
import { FindBox } from '../media-panel.tsx';
import { MediaSave } from '../save/media-save.tsx';
import { embeddingTable } from './embedding-files.ts';
import { Cloud, type CloudPoints } from './cloud.tsx';
import {
  labelGroups,
  nearestVectors,
  VECTOR_DISTANCES,
  type LabelGroups,
  type VectorDistance,
} from './neighbours.ts';

const SPACES = ['3d', '2d'] as const;
type Space = (typeof SPACES)[number];
const NEIGHBOURS = 10;
/** More points are not drawn: the first ones are. */
const MAX_POINTS = 50_000;
const MAX_FOUND = 2000;

/** The embeddings of runs. */
export default function EmbeddingsView({ keys, runs, step }: KindProps): JSX.Element {
  const space = useSignal<Space>('3d');
  useAddressed('space', space, choiceText(SPACES));
  return (
    <>
      <div class="media-tools row wrap gap-12">
        <Segmented
          label={t('Principal components that are shown')}
          options={[
            { value: '3d', label: t('3 components') },
            { value: '2d', label: t('2 components') },
          ]}
          value={space.value}
          onChange={setterOf(space)}
        />
      </div>
      <MediaGrid
        kind="embedding"
        class="table-list"
        keys={keys}
        runs={runs}
        step={step}
        more={sizeText}
      >
        {({ item, run }) => <Loaded run={run} item={item} space={space} />}
      </MediaGrid>
    </>
  );
}

function sizeText(item: MediaItem<'embedding'> | undefined): string | undefined {
  if (item === undefined) return undefined;
  const { dimensions, vectorCount } = item.metadata;
  return t('{count} vectors of {dimensions} numbers', {
    count: formatCount(vectorCount),
    dimensions: formatCount(dimensions),
  });
}

type Projected = {
  readonly embedding: MediaContent['embedding'];
  readonly components: PrincipalComponents;
  readonly groups: LabelGroups;
};

/** In a worker: ten thousand vectors of 768 numbers take seconds. */
async function project(run: MediaRun, item: MediaItem<'embedding'>): Promise<Projected> {
  const { kind, record } = item;
  const embedding = await loadContent(run.source, { kind, record });
  const { dimensions, labels, vectors } = embedding;
  const shown = vectors.subarray(0, MAX_POINTS * dimensions);
  const kernels = await createSeriesKernels({ workers: 1 });
  try {
    const components = await kernels.principalComponents(shown, { dimensions, components: 3 });
    const count = shown.length / dimensions;
    return { embedding, components, groups: labelGroups(labels?.slice(0, count) ?? null, count) };
  } finally {
    await kernels.close();
  }
}

function Loaded(props: {
  readonly run: MediaRun;
  readonly item: MediaItem<'embedding'>;
  readonly space: Signal<Space>;
}): JSX.Element {
  const { item, run, space } = props;
  const { found, error } = usePromise(item, (wanted) => project(run, wanted));
  if (error !== undefined) return <ContentProblem error={error} />;
  if (found === undefined)
    return (
      <p class="quiet small" role="status">
        {t('Computing principal components…')}
      </p>
    );
  return (
    <Explorer
      key={item.record.id}
      name={item.key}
      projected={found.value}
      is3d={space.value === '3d'}
    />
  );
}

function Explorer(props: {
  readonly name: string;
  readonly projected: Projected;
  readonly is3d: boolean;
}): JSX.Element {
  const { name, projected } = props;
  const { components, embedding, groups } = projected;
  const query = useSignal('');
  const chosen = useSignal<number | undefined>(undefined);
  const is3d = useSignal(props.is3d);
  is3d.value = props.is3d && components.componentCount > 2;
  const marked = useComputed(() => foundLabels(embedding.labels, query.value));
  const points = useComputed((): CloudPoints => ({
    positions: components.positions,
    stride: components.componentCount,
    groups,
    is3d: is3d.value,
    marked: marked.value,
  }));
  const host = useRef<HTMLDivElement>(null);
  return (
    <div class="embedding">
      <div ref={host} class="embedding-main">
        <CloudSave name={name} host={host} projected={projected} />
        <Cloud label={name} points={points} chosen={chosen} />
        <p class="quiet small">{varianceText(components, is3d.value ? 3 : 2)}</p>
      </div>
      <aside class="embedding-side small" aria-label={t('Points of {name}', { name })}>
        {embedding.labels !== null && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const [first] = marked.value;
              if (first !== undefined) chosen.value = first;
            }}
          >
            <FindBox
              label={t('Find points by label')}
              placeholder={t('Find a label')}
              value={query.value}
              onChange={setterOf(query)}
            />
            {query.value !== '' && (
              <span role="status" class="quiet">
                {t('{count} found; Enter chooses the first', {
                  count: formatCount(marked.value.size),
                })}
              </span>
            )}
          </form>
        )}
        <Labels groups={groups} query={query} />
        <Neighbours embedding={embedding} chosen={chosen} />
      </aside>
    </div>
  );
}

function CloudSave(props: {
  readonly name: string;
  readonly host: RefObject<HTMLDivElement | null>;
  readonly projected: Projected;
}): JSX.Element {
  const { components, embedding } = props.projected;
  return (
    <MediaSave
      name={props.name}
      files={{
        png: () => pictureOf(props.host.current?.querySelector('canvas')),
        table: () => embeddingTable(components, embedding.labels),
      }}
    />
  );
}

/** The cloud on the ground of the page. @throws Error while nothing is drawn */
function pictureOf(drawn: HTMLCanvasElement | null | undefined): Promise<Blob> {
  const picture = document.createElement('canvas');
  picture.width = drawn?.width ?? 0;
  picture.height = drawn?.height ?? 0;
  const context = picture.getContext('2d');
  if (!drawn || context === null) throw new Error('The points have not been drawn yet.');
  context.fillStyle = getComputedStyle(drawn).getPropertyValue('--surface').trim();
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(drawn, 0, 0);
  return pngOfCanvas(picture);
}

function foundLabels(labels: readonly string[] | null, query: string): ReadonlySet<number> {
  const found = new Set<number>();
  const wanted = query.trim().toLowerCase();
  if (labels === null || wanted === '') return found;
  for (const [i, label] of labels.entries())
    if (found.size < MAX_FOUND && label.toLowerCase().includes(wanted)) found.add(i);
  return found;
}

function varianceText({ totalVariance, variances }: PrincipalComponents, shown: number): string {
  const share = variances.subarray(0, shown).reduce((sum, value) => sum + value, 0);
  return t('The components that are shown have {share} % of the variance.', {
    share: totalVariance > 0 ? ((100 * share) / totalVariance).toFixed(1) : '–',
  });
}

function Labels(props: {
  readonly groups: LabelGroups;
  readonly query: Signal<string>;
}): JSX.Element {
  return (
    <ul class="row wrap gap-6">
      {props.groups.labels.map(({ count, text }, group) => (
        <li key={text}>
          <button type="button" class="tag row gap-6" onClick={setting(props.query, text)}>
            <span class="media-dot" style={{ background: seriesColor(group) }} />
            <bdi class="ellipsis">{text}</bdi>
            <span class="quiet">{formatCount(count)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Neighbours(props: {
  readonly embedding: MediaContent['embedding'];
  readonly chosen: Signal<number | undefined>;
}): JSX.Element {
  const { chosen, embedding } = props;
  const distance = useSignal<VectorDistance>('cosine');
  useAddressed('distance', distance, choiceText(VECTOR_DISTANCES));
  const at = chosen.value;
  const nameOf = (index: number): string =>
    embedding.labels?.[index] ?? t('point {index}', { index: formatCount(index) });
  if (at === undefined)
    return <p class="quiet">{t('Choose a point for its neighbours: click it, or press Enter.')}</p>;
  const neighbours = nearestVectors(embedding, at, NEIGHBOURS, distance.value);
  return (
    <section aria-label={t('Neighbours')}>
      <p class="strong breakable" role="status">
        {t('Neighbours of {name} ({index})', { name: nameOf(at), index: formatCount(at) })}
      </p>
      <Segmented
        label={t('Distance')}
        options={[
          { value: 'cosine', label: t('Cosine') },
          { value: 'euclidean', label: t('Euclidean') },
        ]}
        value={distance.value}
        onChange={setterOf(distance)}
      />
      <ol class="neighbours">
        {neighbours.map((one) => (
          <li key={one.index}>
            <button type="button" class="row gap-8" onClick={setting(chosen, one.index)}>
              <bdi class="ellipsis">{nameOf(one.index)}</bdi>
              <span class="quiet push nowrap">
                {formatCount(one.index)} · {formatValue(one.distance)}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
