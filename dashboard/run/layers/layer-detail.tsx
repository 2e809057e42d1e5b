/** One layer: its curves, and the histograms of its parameters over time. */
import { useComputed, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { ReadableRun } from 'quark-sdk/probes';
import type { ChartView } from '../../charts/chart-view.ts';
import type { PanelContext } from '../../charts/chart-state.ts';
import { Panel } from '../../charts/panel.tsx';
import { IconButton } from '../../parts/controls.tsx';
import { NO_EPOCHS } from '../../series/epoch-scale.ts';
import { Histograms } from './histograms.tsx';
import { LayerCharts } from './layer-series.ts';
import type { LayerTable } from './layer-table.ts';
import { t } from '../../parts/t.ts';

const ORIGIN = { startMs: 0, scale: NO_EPOCHS };

/** Everything recorded of a layer. */
export function LayerDetail(props: {
  readonly layer: string;
  readonly type: string | undefined;
  readonly table: LayerTable;
  /** What the charts show of the steps. */
  readonly view: ChartView;
  readonly revision: ReadonlySignal<number>;
  readonly run: ReadableRun;
  readonly isLive: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const { layer, table, revision, view } = props;
  const title = useRef<HTMLHeadingElement>(null);
  const curves = useMemo(() => new LayerCharts(table, layer), [table, layer]);
  const context = useComputed((): PanelContext => {
    const now = revision.value;
    curves.update();
    return {
      revision: now,
      originOf: () => ORIGIN,
      extentOf: (axis) => curves.series.extent(axis, 0),
    };
  });
  useEffect(() => title.current?.scrollIntoView({ block: 'nearest' }), []);
  void context.value;
  return (
    <section class="layer-detail" aria-label={t('Layer {layer}', { layer })} data-layer={layer}>
      <header class="section-head">
        <h2 ref={title}>
          {layer}
          {props.type !== undefined && <span class="quiet layer-type">{props.type}</span>}
        </h2>
        <IconButton
          class="push"
          icon="close"
          label={t('Close layer {layer}', { layer })}
          onClick={props.onClose}
        />
      </header>
      <div class="chart-grid">
        {curves.groups.map((group) => (
          <Panel
            key={group.id}
            group={group}
            series={curves.series}
            view={view}
            context={context}
          />
        ))}
      </div>
      <Histograms layer={layer} run={props.run} isLive={props.isLive} />
    </section>
  );
}
