/** The ramp of a heat map with the numbers at its ends, and what the cells without a colour are. */
import type { JSX } from 'preact';
import type { ScaleTick } from './color-scale.ts';
import { rampGradient, type RampName } from './ramps.ts';
import { t } from '../../parts/t.ts';

/** The legend under a heat map. */
export function HeatLegend(props: {
  readonly ramp: RampName;
  readonly unit: string;
  readonly ticks: readonly ScaleTick[];
  readonly hasBad: boolean;
  /** More to say, such as how many steps a column has. */
  readonly note?: string | undefined;
}): JSX.Element {
  return (
    <div class="heat-legend muted small">
      <span>{props.unit}</span>
      <span class="heat-ramp">
        <span class="heat-ramp-bar" style={{ background: rampGradient(props.ramp) }} />
        {props.ticks.map(({ share, text }) => (
          <span key={share} class="heat-ramp-tick" style={{ left: `${share * 100}%` }}>
            {text}
          </span>
        ))}
      </span>
      {props.hasBad && (
        <span class="inline gap-7">
          <span class="heat-bad" aria-hidden="true" /> {t('NaN or infinite')}
        </span>
      )}
      {props.note !== undefined && <span class="quiet">{props.note}</span>}
    </div>
  );
}
