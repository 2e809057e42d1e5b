/** How the values, gradients and updates of a layer's parameters are spread, step by step. */
import { useComputed, useSignal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ParameterDistributionRecord, ReadableRun } from 'quark-sdk/probes';
import { MIN_COLUMN_PX } from '../../charts/heat/heat-map.tsx';
import { histogramGrid, type HistogramGrid } from '../../media/distribution/histogram-grid.ts';
import { HEAT_ROWS, HistogramHeat, NO_GRID } from '../../media/distribution/histogram-heat.tsx';
import { Segmented } from '../../parts/controls.tsx';
import { HowTo } from '../../parts/notices.tsx';
import { setterOf } from '../../parts/signals.ts';
import { FeedGate, useFeed } from '../../parts/use-feed.tsx';
import { HistogramFeed } from './feed.ts';
import { shortParameter } from './layer-table.ts';
import { t } from '../../parts/t.ts';

type DistributionType = ParameterDistributionRecord['distributionType'];
const TYPE_LABELS: Readonly<Record<DistributionType, () => string>> = {
  value: () => t('Values'),
  gradient: () => t('Gradients'),
  update: () => t('Updates'),
};
/** What a histogram counts. */
const OF_ELEMENTS: Readonly<Record<DistributionType, () => string>> = {
  value: () => t('value of an element by step'),
  gradient: () => t('gradient of an element by step'),
  update: () => t('update of an element by step'),
};
const TYPES = ['value', 'gradient', 'update'] as const;

/** The histograms of a layer, one panel a parameter. */
export function Histograms(props: {
  readonly layer: string;
  readonly run: ReadableRun;
  readonly isLive: boolean;
}): JSX.Element {
  const { layer, run } = props;
  const feed = useMemo(() => new HistogramFeed(run, layer), [run, layer]);
  const reading = useFeed(feed, props.isLive);
  void reading.revision.value;
  return (
    <FeedGate reading={reading} title={t('The histograms cannot be read')}>
      {() =>
        feed.records.length === 0 ? (
          <HowTo
            title={t('No histograms of this layer')}
            text={t('They are recorded when they are asked for.')}
            code={`quarkCallback(session, tf, model, {
  parameters: {
    captureDistributions: true,
    distributionTypes: ['value', 'gradient', 'update'],
  },
})`}
          />
        ) : (
          <Panels layer={layer} records={feed.records} revision={reading.revision} />
        )
      }
    </FeedGate>
  );
}

type RecordsProps = {
  readonly records: readonly ParameterDistributionRecord[];
  /** Changes when there are more of them. */
  readonly revision: ReadonlySignal<number>;
};

function Panels(props: RecordsProps & { readonly layer: string }): JSX.Element {
  const { layer, records, revision } = props;
  const wanted = useSignal<DistributionType>('value');
  void revision.value;
  const types = TYPES.filter((type) => records.some((one) => one.distributionType === type));
  const type = types.includes(wanted.value) ? wanted.value : (types[0] ?? wanted.value);
  const parameters = [...new Set(records.map(({ parameterName }) => parameterName))];
  return (
    <section class="histograms" aria-label={t('Histograms over time')}>
      <header class="section-head">
        <h3>{t('Histograms over time')}</h3>
        <Segmented
          label={t('What is counted')}
          options={types.map((value) => ({ value, label: TYPE_LABELS[value]() }))}
          value={type}
          onChange={setterOf(wanted)}
        />
      </header>
      <div class="chart-grid">
        {parameters.map((parameter) => (
          <HistogramPanel
            key={`${parameter} ${type}`}
            title={shortParameter(parameter, layer)}
            type={type}
            parameter={parameter}
            records={records}
            revision={revision}
          />
        ))}
      </div>
    </section>
  );
}

function HistogramPanel(
  props: RecordsProps & {
    readonly title: string;
    readonly type: DistributionType;
    readonly parameter: string;
  },
): JSX.Element {
  const { parameter, type } = props;
  const width = useSignal(0);
  const grid = useComputed((): HistogramGrid => {
    void props.revision.value;
    const own = props.records.filter(
      (record) => record.parameterName === parameter && record.distributionType === type,
    );
    return histogramGrid(own, HEAT_ROWS, Math.floor(width.value / MIN_COLUMN_PX)) ?? NO_GRID;
  });
  return (
    <section
      class="panel card heat-panel"
      aria-label={t('Histograms of {parameter}, {type}', {
        parameter,
        type: TYPE_LABELS[type]().toLowerCase(),
      })}
      data-histogram={`${parameter} ${type}`}
    >
      <header class="panel-head row gap-8">
        <h3>
          {props.title}
          <span class="quiet layer-type">{OF_ELEMENTS[type]()}</span>
        </h3>
      </header>
      <HistogramHeat name={parameter} grid={grid} onWidth={setterOf(width)} />
    </section>
  );
}
