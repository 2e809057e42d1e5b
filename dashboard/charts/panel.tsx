/** One chart in its frame, with its title and what it does not show. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { IconButton } from '../parts/controls.tsx';
import { toggling } from '../parts/signals.ts';
import { Badges } from './chart-badges.tsx';
import { ChartBody } from './chart-body.tsx';
import { ChartSave } from './chart-save.tsx';
import { useChart, type ChartProps } from './chart-state.ts';
import { t } from '../parts/t.ts';

/** A chart of the metrics of one group. */
export function Panel(props: ChartProps): JSX.Element {
  const { group } = props;
  const isWide = useSignal(false);
  const chart = useChart(props);
  return (
    <section
      class="panel card"
      data-wide={isWide.value}
      data-group={group.id}
      aria-label={group.title}
    >
      <header class="panel-head row gap-8">
        <h3 class="ellipsis" title={group.title}>
          {group.title}
        </h3>
        <Badges chart={chart} />
        <span class="push row">
          <ChartSave chart={chart} />
          <IconButton
            icon={isWide.value ? 'shrink' : 'expand'}
            label={isWide.value ? t('Make this chart smaller') : t('Make this chart larger')}
            aria-pressed={isWide.value}
            onClick={toggling(isWide)}
          />
        </span>
      </header>
      <ChartBody chart={chart} />
    </section>
  );
}
