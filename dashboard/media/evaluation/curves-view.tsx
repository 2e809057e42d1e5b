/** Precision-recall and ROC curves: classes and runs in one chart, at a step. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { MediaContent, MediaItem } from 'quark-sdk/media';
import { formatValue } from '../../parts/format.ts';
import { usePromise } from '../../parts/hooks.ts';
import { t } from '../../parts/t.ts';
import { CURVE_STYLES, dashOf } from '../../theme/curve-styles.ts';
import { seriesColor } from '../../theme/palette.ts';
import { loadContent } from '../content.ts';
import { ContentProblem, atText } from '../item-caption.tsx';
import type { KindProps } from '../kind-view.ts';
import { mediaOf, type MediaRun } from '../media-feed.ts';
import { itemNear } from '../media-steps.ts';
import { pageDrawing } from '../save/drawing-words.ts';
import { MediaSave } from '../save/media-save.tsx';
import { curveGroups, lastPart, type CurveGroup } from './curve-groups.ts';
import { unitSvg, unitTable } from './unit-files.ts';
import { UnitChart, type UnitCurve } from './unit-chart.tsx';
import '../../charts/curve-style.css';

/** Most curves in one chart. */
const MAX_CURVES = 24;

type CurveKind = 'pr_curve' | 'roc_curve';
type CurveItem = { readonly run: MediaRun; readonly item: MediaItem<CurveKind> };

/** The curves of runs. */
export default function CurvesView({ keys, runs, step }: KindProps): JSX.Element {
  const kinds = ['pr_curve', 'roc_curve'] as const;
  return (
    <div class="text-grid">
      {kinds.flatMap((kind) => {
        const own = keys.filter((key) =>
          runs.some((run) => mediaOf(run, kind).some((item) => item.key === key)),
        );
        return curveGroups(own).map((group) => (
          <CurvePanel
            key={`${kind} ${group.title}`}
            kind={kind}
            group={group}
            runs={runs}
            step={step.value}
          />
        ));
      })}
    </div>
  );
}

type PanelProps = {
  readonly kind: CurveKind;
  readonly group: CurveGroup;
  readonly runs: readonly MediaRun[];
  readonly step: number | undefined;
};

function CurvePanel(props: PanelProps): JSX.Element {
  const { group, kind } = props;
  const { curves, error, items, nameOf } = useCurves(props);
  const isRoc = kind === 'roc_curve';
  const titles = {
    hasDiagonal: isRoc,
    xTitle: isRoc ? t('false positive rate') : t('recall'),
    yTitle: isRoc ? t('true positive rate') : t('precision'),
  };
  return (
    <section class="card text-panel" aria-label={group.title}>
      <header class="row gap-8">
        <h3 class="ellipsis" title={group.title}>
          {group.title}
        </h3>
        <span class="quiet small">{isRoc ? t('ROC') : t('Precision and recall')}</span>
      </header>
      {error !== undefined && <ContentProblem error={error} />}
      {curves.length > 0 && (
        <MediaSave
          name={group.title}
          files={{
            svg: () => unitSvg(curves, titles, pageDrawing(group.title)),
            table: () => unitTable(curves, titles),
          }}
        />
      )}
      <UnitChart label={group.title} curves={curves} {...titles} />
      <ul class="unit-legend small">
        {items.map((one, at) => (
          <li key={one.item.record.id} class="row gap-8">
            <svg class="swatch" viewBox="0 0 18 4" aria-hidden="true">
              <path
                d="M0 2H18"
                stroke={curves[at]?.color ?? 'none'}
                stroke-dasharray={curves[at]?.dash.join(' ')}
              />
            </svg>
            <bdi class="ellipsis">{nameOf(one)}</bdi>
            <span class="push nowrap">
              {areaText(one.item)}
              <span class="quiet"> {atText(one.item)}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The curves of a chart, loaded, with their names and styles. */
function useCurves({ group, kind, runs, step }: PanelProps): {
  readonly items: readonly CurveItem[];
  readonly curves: readonly UnitCurve[];
  readonly error: unknown;
  readonly nameOf: (item: CurveItem) => string;
} {
  const shown = group.keys
    .flatMap((key) =>
      runs.flatMap((run): CurveItem[] => {
        const ofKey = mediaOf(run, kind).filter((one) => one.key === key);
        const item = itemNear(ofKey, step);
        return item === undefined ? [] : [{ run, item }];
      }),
    )
    .slice(0, MAX_CURVES);
  const items = useMemo(() => shown, [shown.map(({ item }) => item.record.id).join()]);
  const { found, error } = usePromise(items, (wanted) =>
    Promise.all(wanted.map(({ item, run }) => loadCurve(run, item))),
  );
  const nameOf = ({ item, run }: CurveItem): string =>
    [
      ...(group.keys.length > 1 ? [lastPart(item.key)] : []),
      ...(runs.length > 1 ? [run.name] : []),
    ].join(' · ') || item.key;
  const curves = items.flatMap((one, at): UnitCurve[] => {
    const points = found?.input === items ? found.value[at] : undefined;
    const style = CURVE_STYLES[at % CURVE_STYLES.length];
    if (points === undefined || style === undefined) return [];
    const drawn = { color: seriesColor(style.color), dash: dashOf(style.dash) };
    return [{ ...points, ...drawn, id: one.item.record.id, name: nameOf(one) }];
  });
  return { items, curves, error, nameOf };
}

function areaText({ kind, metadata }: MediaItem<CurveKind>): string {
  const area = metadata.area === null ? '–' : formatValue(metadata.area);
  return kind === 'roc_curve'
    ? t('area {area}', { area })
    : t('average precision {area}', { area });
}

async function loadCurve(
  { source }: MediaRun,
  item: MediaItem<CurveKind>,
): Promise<Pick<UnitCurve, 'xs' | 'ys' | 'thresholds'>> {
  const { kind, record } = item;
  if (kind === 'roc_curve') {
    const curve: MediaContent['roc_curve'] = await loadContent(source, { kind, record });
    const { falsePositiveRate: xs, thresholds, truePositiveRate: ys } = curve;
    return { xs, ys, thresholds };
  }
  const { precision: ys, recall: xs, thresholds } = await loadContent(source, { kind, record });
  return { xs, ys, thresholds };
}
