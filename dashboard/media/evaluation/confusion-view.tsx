/** Confusion matrices over steps and runs. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { MediaItem } from 'quark-sdk/media';
import { choiceText, FLAG } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { Segmented } from '../../parts/controls.tsx';
import { rampOf } from '../../charts/heat/ramps.ts';
import { formatCount } from '../../parts/format.ts';
import { setterOf } from '../../parts/signals.ts';
import { t } from '../../parts/t.ts';
import { useContent } from '../content.ts';
import { Check } from '../check.tsx';
import { ContentProblem } from '../item-caption.tsx';
import { MediaPanel } from '../media-panel.tsx';
import type { KindProps } from '../kind-view.ts';
import { mediaOf, type MediaRun } from '../media-feed.ts';
import { itemNear } from '../media-steps.ts';
import { pageDrawing } from '../save/drawing-words.ts';
import { MediaSave } from '../save/media-save.tsx';
import { useWidthOf } from '../use-width.ts';
import { confusionSvg, confusionTable } from './confusion-files.ts';
import { ConfusionGrid } from './confusion-grid.tsx';
import {
  CONFUSION_SCALES,
  confusionView,
  topConfusions,
  type ConfusionScale,
} from './confusion.ts';

const LISTED_PAIRS = 5;

/** The confusion matrices of runs. */
export default function ConfusionsView({ keys, runs, step }: KindProps): JSX.Element {
  const scale = useSignal<ConfusionScale>('row');
  const isByError = useSignal(false);
  useAddressed('confusion', scale, choiceText(CONFUSION_SCALES));
  useAddressed('by-error', isByError, FLAG);
  return (
    <>
      <div class="media-tools row wrap gap-12">
        <Segmented
          label={t('What the cells show')}
          options={[
            { value: 'row', label: t('Share of the true class') },
            { value: 'column', label: t('Share of the predicted class') },
            { value: 'counts', label: t('Counts') },
          ]}
          value={scale.value}
          onChange={setterOf(scale)}
        />
        <Check label={t('Classes with most errors first')} on={isByError} />
      </div>
      <div class="text-grid" data-runs={runs.length}>
        {keys.flatMap((key) =>
          runs.map((run) => {
            const items = mediaOf(run, 'confusion_matrix').filter((item) => item.key === key);
            const item = itemNear(items, step.value);
            const accuracy = item?.metadata.accuracy;
            return (
              <MediaPanel
                key={`${run.runId} ${key}`}
                name={key}
                run={run}
                item={item}
                step={step.value}
                isOneOfMany={runs.length > 1}
                more={
                  accuracy === null || accuracy === undefined
                    ? undefined
                    : t('accuracy {share} %', { share: (100 * accuracy).toFixed(1) })
                }
              >
                {item !== undefined && (
                  <Matrix run={run} item={item} scale={scale.value} isByError={isByError.value} />
                )}
              </MediaPanel>
            );
          }),
        )}
      </div>
    </>
  );
}

function Matrix(props: {
  readonly run: MediaRun;
  readonly item: MediaItem<'confusion_matrix'>;
  readonly scale: ConfusionScale;
  readonly isByError: boolean;
}): JSX.Element {
  const { isByError, item, run, scale } = props;
  const host = useRef<HTMLDivElement>(null);
  const width = useWidthOf(host);
  const { found, error } = useContent(run.source, item);
  const view = useMemo(
    () => (found === undefined ? undefined : confusionView(found.value, scale, isByError)),
    [found?.value, scale, isByError],
  );
  const pairs = view === undefined ? [] : topConfusions(view, LISTED_PAIRS);
  return (
    <div ref={host}>
      {error !== undefined && <ContentProblem error={error} />}
      {view !== undefined && (
        <MediaSave
          name={item.key}
          files={{
            svg: () => confusionSvg(view, scale, rampOf('sequential'), pageDrawing(item.key)),
            table: () => confusionTable(view, scale),
          }}
        />
      )}
      {view !== undefined && width > 0 && (
        <ConfusionGrid label={item.key} view={view} scale={scale} widthPx={width} />
      )}
      {pairs.length > 0 && (
        <>
          <h4 class="small quiet">{t('Most often confused')}</h4>
          <ol class="small">
            {pairs.map(({ count, from, to }) => (
              <li key={`${from} ${to}`} class="breakable">
                {t('{from} taken for {to}: {count}', { from, to, count: formatCount(count) })}
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}
