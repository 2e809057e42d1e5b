/** Phases and alerts of several runs as lanes over one axis of steps. */
import type { JSX, RefObject } from 'preact';
import { ScrollTable, Head, RowHead } from '../scroll-table.tsx';
import { useRef } from 'preact/hooks';
import { drawnWays } from '../../charts/save/save-drawn.ts';
import { SaveMenu } from '../../charts/save/save-menu.tsx';
import type { CsvCell } from '../../charts/save/save-csv.ts';
import { formatCount } from '../../parts/format.ts';
import { t } from '../../parts/t.ts';
import { phaseColor } from '../../theme/phase-color.ts';
import { cutMiddle, quantityScale, type QuantityScale } from '../quantity-scale.ts';
import { useWidth } from '../use-width.ts';
import type { AnalysedRun } from './view.tsx';

const LANE = 34;
const FOOT = 28;
const PAD = 10;
/** A lane with a name beside it needs this much. */
const NARROW = 560;
/** Letters of a label take this many pixels, about. */
const LETTER = 6.6;

const SEVERITY_TONES: Readonly<Record<string, string>> = {
  info: 'accent',
  warning: 'paused',
  error: 'bad',
  critical: 'bad',
};

/** The lanes, and the same as a table. */
export function PhaseLanes({ runs }: { readonly runs: readonly AnalysedRun[] }): JSX.Element {
  const svg = useRef<SVGSVGElement>(null);
  const ends = runs.flatMap(({ analysis }) => [
    ...(analysis?.phases.flatMap(({ stepEnd, stepStart }) => [stepStart, stepEnd]) ?? []),
    ...(analysis?.groups.flatMap(({ cause }) => cause.stepStart ?? []) ?? []),
  ]);
  if (ends.length === 0)
    return (
      <p class="quiet">
        {t('No phases: they are told from losses or accuracies, of which there are not enough.')}
      </p>
    );
  const name = t('Phases and alerts');
  return (
    <>
      <div class="card lanes-card">
        <span class="lanes-save">
          <SaveMenu
            name={name}
            ways={() =>
              drawnWays({
                name,
                svg: svg.current,
                header: ['run', 'kind', 'name', 'axis', 'first', 'last'],
                rows: () => rowsOf(runs),
              })
            }
          />
        </span>
        <Lanes runs={runs} ends={ends} svg={svg} />
      </div>
      <LaneTable runs={runs} />
    </>
  );
}

function Lanes(props: {
  readonly runs: readonly AnalysedRun[];
  /** Where phases and alerts begin and end. */
  readonly ends: readonly number[];
  readonly svg: RefObject<SVGSVGElement | null>;
}): JSX.Element {
  const { ends, runs, svg } = props;
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame).value;
  const isNarrow = width < NARROW;
  const left = PAD + (isNarrow ? 0 : Math.min(240, width * 0.26));
  const lane = isNarrow ? LANE + 16 : LANE;
  const plot = Math.max(0, width - left - PAD);
  const scale = quantityScale([...ends, 0], false, isNarrow ? 4 : 9);
  const height = runs.length * lane + FOOT;
  return (
    <div ref={frame}>
      <svg
        ref={svg}
        class="lanes"
        width={width}
        height={height}
        role="img"
        aria-label={t('Phases and alerts of each run. The table below has the same.')}
      >
        {runs.map((run, at) => (
          <Lane
            key={run.runId}
            run={run}
            top={at * lane + (isNarrow ? 16 : 0)}
            left={left}
            width={plot}
            scale={scale}
            isNarrow={isNarrow}
          />
        ))}
        {scale.ticks.map(({ at, label }) => (
          <text
            key={label}
            class="axis-label"
            x={left + at * plot}
            y={height - 8}
            text-anchor="middle"
          >
            {label}
          </text>
        ))}
      </svg>
    </div>
  );
}

function Lane(props: {
  readonly run: AnalysedRun;
  readonly top: number;
  readonly left: number;
  readonly width: number;
  readonly scale: QuantityScale;
  readonly isNarrow: boolean;
}): JSX.Element {
  const { isNarrow, left, run, scale, top, width } = props;
  const { analysis, name } = run;
  const at = (step: number): number => left + (scale.at(step) ?? 0) * width;
  const height = LANE - 12;
  return (
    <g>
      <text
        class="lane-name"
        x={isNarrow ? PAD : left - 8}
        y={isNarrow ? top - 3 : top + 20}
        text-anchor={isNarrow ? 'start' : 'end'}
      >
        {cutMiddle(name, Math.max(6, Math.floor((isNarrow ? width : left - 20) / LETTER)))}
      </text>
      <rect class="lane-ground" x={left} y={top + 5} width={width} height={height} rx="3" />
      {analysis?.phases.map((phase, i, all) => {
        const from = at(phase.stepStart);
        const span = Math.max(2, at(all[i + 1]?.stepStart ?? phase.stepEnd) - from);
        const letters = Math.floor((span - 8) / LETTER);
        return (
          <g key={phase.id}>
            <title>
              {`${name}: ${phase.displayName}, ${formatCount(phase.stepStart)}–${formatCount(phase.stepEnd)}`}
            </title>
            <rect
              x={from}
              y={top + 5}
              width={span}
              height={height}
              fill={phaseColor(phase.phaseName)}
              fill-opacity="0.22"
            />
            <rect x={from} y={top + 5} width={span} height="3" fill={phaseColor(phase.phaseName)} />
            {letters >= phase.displayName.length && (
              <text class="lane-phase" x={from + 5} y={top + 21}>
                {phase.displayName}
              </text>
            )}
          </g>
        );
      })}
      {analysis?.groups.map(({ cause, severity }) =>
        cause.stepStart === null ? null : (
          <g key={cause.id} class={`tone-${SEVERITY_TONES[severity] ?? 'paused'}`}>
            <title>{`${name}: ${cause.title}, ${formatCount(cause.stepStart)}`}</title>
            <path class="lane-alert" d={`M${at(cause.stepStart)} ${top + 12}l5 9h-10z`} />
          </g>
        ),
      )}
    </g>
  );
}

function* rowsOf(runs: readonly AnalysedRun[]): Generator<readonly CsvCell[]> {
  for (const { analysis, name } of runs) {
    for (const { displayName, stepEnd, stepStart } of analysis?.phases ?? [])
      yield [name, 'phase', displayName, analysis?.phaseAxis, stepStart, stepEnd];
    for (const { cause } of analysis?.groups ?? [])
      yield [name, 'alert', cause.title, 'step', cause.stepStart, cause.stepEnd];
  }
}

/** The lanes in words. */
function LaneTable({ runs }: { readonly runs: readonly AnalysedRun[] }): JSX.Element {
  return (
    <details class="lane-table">
      <summary class="small muted">{t('As a table')}</summary>
      <ScrollTable
        label={t('Phases as a table')}
        head={
          <>
            <Head isFirst>{t('Run')}</Head>
            <Head>{t('Phases')}</Head>
            <Head>{t('Alerts')}</Head>
          </>
        }
      >
        {runs.map(({ analysis, name, runId }) => (
          <tr key={runId}>
            <RowHead>{name}</RowHead>
            <td>
              {analysis?.phases.map(({ displayName, id, stepEnd, stepStart }) => (
                <div key={id}>
                  {displayName}{' '}
                  <span class="quiet">
                    {analysis.phaseAxis} {formatCount(stepStart)}–{formatCount(stepEnd)}
                  </span>
                </div>
              ))}
            </td>
            <td>
              {analysis?.groups.map(({ cause }) => (
                <div key={cause.id}>
                  {cause.title}{' '}
                  {cause.stepStart !== null && (
                    <span class="quiet">{formatCount(cause.stepStart)}</span>
                  )}
                </div>
              ))}
            </td>
          </tr>
        ))}
      </ScrollTable>
    </details>
  );
}
