/** Models of TensorFlow.js and ONNX as graphs. */
import type { JSX } from 'preact';
import { loadModel } from 'quark-sdk/media';
import { readOnnxGraph } from 'quark-sdk/onnx';
import { usePromise } from '../../parts/hooks.ts';
import { t } from '../../parts/t.ts';
import { checkLoadable } from '../content.ts';
import { ContentProblem } from '../item-caption.tsx';
import type { KindProps } from '../kind-view.ts';
import { mediaOf, type MediaRun, type StoredArtifact } from '../media-feed.ts';
import { MediaPanel } from '../media-panel.tsx';
import { itemNear } from '../media-steps.ts';
import { GraphView } from './graph-view.tsx';
import { onnxModelGraph, tfjsModelGraph, type ModelGraph } from './model-graph.ts';

/** The models of runs. */
export default function ModelsView({ keys, runs, step }: KindProps): JSX.Element {
  return (
    <div class="table-list" data-runs={runs.length}>
      {keys.flatMap((key) =>
        runs.map((run) => {
          const ofKey = mediaOf(run, 'model').filter((item) => item.key === key);
          const item = itemNear(ofKey, step.value);
          const format = item?.record.metadata?.['format'];
          return (
            <MediaPanel
              key={`${run.runId} ${key}`}
              name={key}
              run={run}
              item={item}
              step={step.value}
              isOneOfMany={runs.length > 1}
              more={typeof format === 'string' ? format : undefined}
            >
              {item !== undefined && <LoadedModel run={run} record={item.record} />}
            </MediaPanel>
          );
        }),
      )}
    </div>
  );
}

/** The graph of a stored model. */
export function LoadedModel(props: {
  readonly run: Pick<MediaRun, 'source'>;
  readonly record: StoredArtifact;
}): JSX.Element {
  const { record, run } = props;
  const { found, error } = usePromise(record, (wanted) => loadGraph(run, wanted));
  if (error !== undefined) return <ContentProblem error={error} />;
  if (found === undefined) return <span class="skeleton" style={{ width: '60%' }} />;
  if (found.value.nodes.length === 0)
    return <p class="quiet small">{t('The file does not say which layers the model has.')}</p>;
  return <GraphView key={record.id} name={record.artifactKey} graph={found.value} />;
}

async function loadGraph(
  { source }: Pick<MediaRun, 'source'>,
  { artifactKey, sizeBytes, step }: StoredArtifact,
): Promise<ModelGraph> {
  checkLoadable(sizeBytes);
  const model = await loadModel(source, artifactKey, step === null ? {} : { step });
  if (model.format === 'onnx') return onnxModelGraph(readOnnxGraph(model.bytes));
  const { modelTopology, weightSpecs } = await model.load();
  return tfjsModelGraph(modelTopology, weightSpecs);
}
