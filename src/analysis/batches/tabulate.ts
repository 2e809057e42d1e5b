/** Findings about batches as tables of text: for reports and terminals. */
import { percentText, shortText } from '../text/number-text.ts';
import type { HardBatch, HardBatches } from './hard-batches.ts';

/** A table of {@link tabulateHardBatches}. */
export type HardBatchTable = {
  readonly title: string;
  /** What the table says, in a sentence. */
  readonly note: string;
  readonly columns: readonly {
    readonly title: string;
    /** Whether the cells are numbers. */
    readonly isNumber: boolean;
  }[];
  /** As many cells a row as there are columns. */
  readonly rows: readonly (readonly string[])[];
};

/** Rows of a table, at most, and names in a cell. */
const MAX_ROWS = 12;
const MAX_NAMES = 4;

/**
 * What {@link findHardBatches} found as tables for people, at most 12 rows each: samples, classes, batches, spikes. Tables without a row are left
 * out.
 *
 * @example
 * ```js
 * import { createBatchColumns, createRunColumns, findHardBatches, tabulateHardBatches } from 'quark-sdk/analysis';
 *
 * const rows = Array.from({ length: 200 }, (_, step) => ({ step, loss: step === 120 ? 8 : 1 + 0.01 * (step % 7), sampleIds: [step] }));
 * const found = findHardBatches(createRunColumns({ batches: createBatchColumns(rows) }));
 * for (const { title, columns, rows } of tabulateHardBatches(found)) {
 *   console.log(title, columns.map((column) => column.title));
 *   console.log(rows[0]);
 * }
 * ```
 */
export function tabulateHardBatches(found: HardBatches): readonly HardBatchTable[] {
  const tables = [samples(found), classes(found), spikes(found), batches(found)];
  return tables
    .filter(({ rows }) => rows.length > 0)
    .map((table) => {
      const more = table.rows.length - MAX_ROWS;
      return more <= 0
        ? table
        : {
            ...table,
            rows: table.rows.slice(0, MAX_ROWS),
            note: `${table.note} ${more} more are not shown.`,
          };
    });
}

function samples(found: HardBatches): HardBatchTable {
  return {
    title: 'Hard samples',
    note: `Batches with these samples have high losses far more often than chance would have it (of ${found.testedSampleCount} samples seen more than once): look at their labels.${orderNote(found)}`,
    columns: [
      text('Sample'),
      number('Batches'),
      number('Hard ones'),
      number('Loss, about'),
      number('Usual loss'),
      number('p'),
    ],
    rows: found.samples.map((one) => [
      one.together.length === 0
        ? one.sampleId
        : `${one.sampleId} or ${names(one.together, one.together.length)}`,
      String(one.batchCount),
      String(one.hardBatchCount),
      shortText(one.loss),
      shortText(one.usualLoss),
      shortText(one.pValue),
    ]),
  };
}

function classes(found: HardBatches): HardBatchTable {
  return {
    title: 'Hard classes',
    note: 'Batches with more samples of these classes have higher losses.',
    columns: [
      text('Class'),
      number('Share of all'),
      number('Of hard batches'),
      number('Loss, about'),
      number('Other classes'),
      number('p'),
    ],
    rows: found.classes.map((one) => [
      one.className,
      percentText(one.share),
      percentText(one.hardShare),
      shortText(one.loss),
      shortText(one.otherLoss),
      shortText(one.pValue),
    ]),
  };
}

function spikes(found: HardBatches): HardBatchTable {
  return {
    title: 'Spikes and their batches',
    note: 'What was trained on when the loss jumped.',
    columns: [
      text('Metric'),
      number('Step'),
      number('From'),
      number('To'),
      number('Loss of the batch'),
      text('Samples'),
    ],
    rows: found.spikes.flatMap(({ batch, level, metricKey, peak, step }) =>
      batch === null
        ? []
        : [
            [
              metricKey,
              place(step),
              shortText(level),
              shortText(peak),
              shortText(batch.loss),
              content(batch),
            ],
          ],
    ),
  };
}

function batches(found: HardBatches): HardBatchTable {
  return {
    title: 'Hard batches',
    note: `Their losses stand out of those trained on around the same time.${found.samples.length > 0 ? '' : orderNote(found)}`,
    columns: [
      number('Step'),
      number('Loss'),
      number('Usual loss'),
      number('Deviations'),
      text('Samples'),
    ],
    rows: found.batches.map((batch) => [
      place(batch.step),
      shortText(batch.loss),
      shortText(batch.usualLoss),
      batch.deviations === null ? '–' : shortText(Number(batch.deviations.toPrecision(2))),
      content(batch),
    ]),
  };
}

/** Why no single sample can be named: ranks of batches that never change say nothing about one of their samples. */
function orderNote({ isShuffled }: HardBatches): string {
  return isShuffled === false
    ? ' The batches are the same in every epoch, so that nobody can tell which of their samples it is: shuffle them.'
    : '';
}

/** Samples of a batch, hard ones alone where there are any; classes where no sample was named. */
function content({ classCounts, hardSampleIds, sampleIds }: HardBatch): string {
  if (hardSampleIds.length > 0) return names(hardSampleIds, hardSampleIds.length);
  if (sampleIds.length > 0) return names(sampleIds, sampleIds.length);
  const counts = Object.entries(classCounts).map(([name, count]) => `${name} (${count})`);
  return counts.length === 0 ? '–' : names(counts, counts.length);
}

function names(list: readonly string[], count: number): string {
  const more = count - MAX_NAMES;
  return `${list.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function place(step: number | null): string {
  return step === null ? '–' : String(step);
}

function text(title: string): HardBatchTable['columns'][number] {
  return { title, isNumber: false };
}

function number(title: string): HardBatchTable['columns'][number] {
  return { title, isNumber: true };
}
