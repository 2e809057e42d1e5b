/** What hard batches have in common, and the batches behind spikes of the loss: computed in a worker, wherever the run is. */
import { openRun, type Store } from 'quark-sdk';
import { findHardBatches, loadRunColumns, type HardBatches } from 'quark-sdk/analysis';

/** What the analysis finds in the batches of a run, as a message can carry it. */
export type BatchFindings = Omit<HardBatches, 'toDict'>;

/** Reads the metrics and the batches of a run and looks through them; nothing is written. */
export async function findBatches(store: Store, runId: string): Promise<BatchFindings> {
  const columns = await loadRunColumns(await openRun(store, runId), {
    layers: false,
    parameters: false,
    telemetry: false,
    events: false,
  });
  const { toDict: _, ...found } = findHardBatches(columns);
  return found;
}
