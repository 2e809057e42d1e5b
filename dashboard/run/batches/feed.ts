/** What data diagnostics recorded of a run. Each poll reads what has come since. */
import {
  readBatchDiagnostics,
  summarizeBatches,
  type BatchDiagnosticRecord,
  type DataDiagnosticsSummary,
  type ReadableRun,
} from 'quark-sdk/probes';

/** The batches, and what they tell together. */
export class BatchFeed {
  readonly records: BatchDiagnosticRecord[] = [];
  readonly #run: ReadableRun;
  #next = 0;
  #summary: DataDiagnosticsSummary | undefined;
  #lastEpoch: DataDiagnosticsSummary | undefined;

  constructor(run: ReadableRun) {
    this.#run = run;
  }

  /** Undefined while there is no batch. */
  get summary(): DataDiagnosticsSummary | undefined {
    return this.#summary;
  }

  /** Of the last epoch alone; undefined where epochs were not recorded or there is only one. */
  get lastEpoch(): DataDiagnosticsSummary | undefined {
    return this.#lastEpoch;
  }

  /** Reads what has come since; true when something has. */
  async poll(): Promise<boolean> {
    const { records } = await readBatchDiagnostics(this.#run, { sequenceMin: this.#next });
    for (const record of records) {
      this.records.push(record);
      this.#next = Math.max(this.#next, (record.sequence ?? 0) + 1);
    }
    if (records.length > 0) {
      this.#summary = await summarizeBatches(this.records);
      const epoch = this.records.at(-1)?.epoch ?? null;
      const last = this.records.filter((record) => record.epoch === epoch);
      this.#lastEpoch =
        epoch === null || last.length === this.records.length
          ? undefined
          : await summarizeBatches(last);
    }
    return records.length > 0;
  }
}
