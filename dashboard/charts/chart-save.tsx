/** The ways to save a chart. */
import type { JSX } from 'preact';
import { t } from '../parts/t.ts';
import { drawing, nextTurn } from '../parts/turns.ts';
import type { ChartState } from './chart-state.ts';
import { curveName } from './legend.tsx';
import { colorsOf } from './metric-chart.ts';
import { chartTable } from './chart-csv.ts';
import { chartSvg, type SvgFile } from './chart-svg.ts';
import { kindWord } from './mark-layer.tsx';
import { placedMarks } from './marks.ts';
import { csvBlob } from './save/save-csv.ts';
import { downloadName, saveBlob } from './save/save-file.ts';
import { copyText, SaveMenu, type SaveWay } from './save/save-menu.tsx';
import { pngOfSvg } from './save/save-png.ts';
import { pageSmoother } from './smoothing/smooth-client.ts';
import './save/save.css';

/** The button with the menu. */
export function ChartSave({ chart }: { readonly chart: ChartState }): JSX.Element {
  return <SaveMenu name={chart.props.group.title} ways={() => waysOf(chart)} />;
}

function waysOf(chart: ChartState): readonly SaveWay[] {
  const { title } = chart.props.group;
  return [
    {
      label: 'PNG',
      hint: t('a picture'),
      save: async () => {
        const { height, svg, width } = fileOf(chart);
        saveBlob(downloadName([title], 'png'), await pngOfSvg(svg, width, height));
      },
    },
    {
      label: 'SVG',
      hint: t('a drawing of lines'),
      save: () => {
        const file = new Blob([fileOf(chart).svg], { type: 'image/svg+xml' });
        saveBlob(downloadName([title], 'svg'), file);
      },
    },
    {
      label: 'CSV',
      hint: t('all points of what is shown'),
      save: async () => {
        await hasAllCurves(chart);
        const shown = chart.curves.peek().filter(({ isHidden }) => !isHidden);
        const settings = chart.settings.peek();
        const table = chartTable(shown, chart.range.peek(), settings, (key) =>
          curveName(chart, key),
        );
        saveBlob(
          downloadName([title], 'csv'),
          await csvBlob(table.header, table.rows(), table.notes),
        );
      },
    },
    {
      label: t('Link'),
      hint: t('the address, with the zoom'),
      save: () => copyText(location.href),
    },
  ];
}

/** Resolves when no curve of the chart waits to be smoothed. */
async function hasAllCurves({ curves }: ChartState): Promise<void> {
  while (pageSmoother.isBusy(curves) || drawing.has(curves)) await nextTurn();
}

/** @throws Error while nothing is drawn */
function fileOf(chart: ChartState): SvgFile {
  const drawn = chart.drawn.peek();
  const host = chart.host.current;
  if (drawn === undefined || host === null) throw new Error(t('The chart has not been drawn yet.'));
  const { curves, settings } = drawn.model;
  const { startMs } = chart.props.context.peek().originOf(curves[0]?.key ?? '');
  return chartSvg(drawn, {
    title: chart.props.group.title,
    nameOf: (key) => curveName(chart, key),
    color: colorsOf(host),
    fontFamily: getComputedStyle(host).fontFamily,
    marks: placedMarks(chart.props.marks?.peek() ?? [], chart.props.view.hidden.peek(), {
      settings,
      curves,
      startMs,
    }).map(({ mark, x }) => ({ x, text: `${kindWord(mark.kind)}: ${mark.text}` })),
  });
}
