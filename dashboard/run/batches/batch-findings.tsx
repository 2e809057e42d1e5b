/** What the analysis finds in the batches: samples and classes that hard ones have in common, and what was trained on at spikes. */
import type { JSX } from 'preact';
import type { ExposureSummary } from 'quark-sdk/probes';
import type { BatchFindings } from '../../worker/batch-findings.ts';
import { classText, noSamplesText, shareText, timesText } from './batch-text.ts';
import { formatCount, formatValue } from '../../parts/format.ts';
import { ClassCell, placeText, rounded, SampleCell } from './hard-batches.tsx';
import { Icon } from '../../parts/icons.tsx';
import { textOf } from '../../parts/parts.tsx';
import type { Asked } from '../feed/use-asked.ts';

/** Rows of a table that are listed. */
const SHOWN = 20;

/** The findings, or how far they are. */
export function Findings(props: {
  readonly asked: Asked<BatchFindings>;
  readonly exposure: ExposureSummary;
}): JSX.Element {
  const { answer, error, retry } = props.asked;
  const found = answer.value;
  return (
    <>
      {error.value !== undefined && (
        <p class="strip strip-warning" role="status">
          <Icon name="warning" /> What hard batches have in common could not be looked for:{' '}
          {textOf(error.value)}{' '}
          <button type="button" class="button button-small" onClick={retry}>
            Try again
          </button>
        </p>
      )}
      {found === undefined && error.value === undefined && (
        <p class="quiet" role="status">
          Looking for what hard batches have in common…
        </p>
      )}
      {found !== undefined && (
        <>
          <HardSamples found={found} />
          <HardClasses found={found} exposure={props.exposure} />
          <Spikes found={found} />
        </>
      )}
    </>
  );
}

function HardSamples({ found }: { readonly found: BatchFindings }): JSX.Element {
  return (
    <Part
      title="Hard samples"
      note="Batches with these samples have high losses far more often than chance would have it: look at their labels."
      nothing={noSamplesText(found)}
      count={found.samples.length}
      columns={[
        { title: 'Sample', isWords: true },
        { title: 'Batches' },
        { title: 'Hard ones', hint: 'Among the highest tenth of their time' },
        { title: 'Its loss, about', hint: 'Estimated from its batches' },
        { title: 'Usual loss', hint: 'Of the batches trained on around the same times' },
        { title: 'Effect' },
        CHANCE,
      ]}
    >
      {found.samples.slice(0, SHOWN).map((one) => (
        <tr key={one.sampleId}>
          <th scope="row" class="cell-words breakable">
            <span class="hard-sample">{one.sampleId}</span>
            {one.together.length > 0 && (
              <span class="quiet" title={one.together.join(', ')}>
                {' '}
                or {one.together.slice(0, 2).join(', ')}
                {one.together.length > 2 && ', …'}
              </span>
            )}
          </th>
          <td>{formatCount(one.batchCount)}</td>
          <td>
            {formatCount(one.hardBatchCount)} ({shareText(one.hardBatchCount / one.batchCount)})
          </td>
          <td>{formatValue(rounded(one.loss))}</td>
          <td>{formatValue(rounded(one.usualLoss))}</td>
          <td class="effect">{timesText(one.loss, one.usualLoss) ?? '–'}</td>
          <td>{formatValue(rounded(one.pValue))}</td>
        </tr>
      ))}
    </Part>
  );
}

function HardClasses(props: {
  readonly found: BatchFindings;
  readonly exposure: ExposureSummary;
}): JSX.Element | null {
  const { classes } = props.found;
  const { classCounts } = props.exposure;
  if (classText(classCounts) === undefined) return null;
  return (
    <Part
      title="Hard classes"
      note="Batches with more samples of these classes have higher losses."
      nothing="No class stands out."
      count={classes.length}
      columns={[
        { title: 'Class', isWords: true },
        { title: 'Samples' },
        { title: 'Share of all' },
        { title: 'Of hard batches', hint: 'Share in the tenth of batches that stand out most' },
        { title: 'Loss, about', hint: 'Of a sample of the class, estimated' },
        { title: 'Other classes', hint: 'Loss of a sample of the others, estimated' },
        { title: 'Effect' },
        CHANCE,
      ]}
    >
      {classes.slice(0, SHOWN).map((one) => {
        const count = classCounts[one.className];
        return (
          <tr key={one.className}>
            <th scope="row" class="cell-words breakable">
              <span class="hard-sample">{one.className}</span>
            </th>
            <td>{typeof count === 'number' ? formatCount(count) : '–'}</td>
            <td>{shareText(one.share)}</td>
            <td>
              {shareText(one.hardShare)}
              {timesText(one.hardShare, one.share) !== undefined &&
                ` (${timesText(one.hardShare, one.share)})`}
            </td>
            <td>{formatValue(rounded(one.loss))}</td>
            <td>{formatValue(rounded(one.otherLoss))}</td>
            <td class="effect">{timesText(one.loss, one.otherLoss) ?? '–'}</td>
            <td>{formatValue(rounded(one.pValue))}</td>
          </tr>
        );
      })}
    </Part>
  );
}

function Spikes({ found }: { readonly found: BatchFindings }): JSX.Element {
  const hardIds = new Set(found.samples.flatMap((one) => [one.sampleId, ...one.together]));
  const hasClasses = found.spikes.some(
    ({ batch }) => batch !== null && classText(batch.classCounts) !== undefined,
  );
  return (
    <Part
      title="Spikes and their batches"
      note="What was trained on when the loss jumped."
      nothing="The training loss has no spike that it came back from."
      count={found.spikes.length}
      columns={[
        { title: 'Metric', isWords: true },
        { title: 'Step' },
        { title: 'From' },
        { title: 'To' },
        { title: 'Loss of the batch' },
        { title: 'Samples', isWords: true },
        ...(hasClasses ? [{ title: 'Classes', isWords: true }] : []),
      ]}
    >
      {found.spikes.slice(0, SHOWN).map(({ metricKey, step, level, peak, batch }) => (
        <tr key={`${metricKey} ${step}`}>
          <th scope="row" class="cell-words breakable">
            {metricKey}
          </th>
          <td>{placeText(step)}</td>
          <td>{formatValue(rounded(level))}</td>
          <td class="effect">{formatValue(rounded(peak))}</td>
          <td>{batch === null ? 'not recorded' : formatValue(rounded(batch.loss))}</td>
          <SampleCell sampleIds={batch?.sampleIds ?? []} hardIds={hardIds} />
          {hasClasses && <ClassCell classCounts={batch?.classCounts ?? null} />}
        </tr>
      ))}
    </Part>
  );
}

type Column = { readonly title: string; readonly hint?: string; readonly isWords?: boolean };

const CHANCE: Column = {
  title: 'p',
  hint: 'How often chance alone would do it, corrected for all that were asked about',
};

/** A table with its title, or what is said where it has no row. */
function Part(props: {
  readonly title: string;
  readonly note: string;
  readonly nothing: string;
  readonly count: number;
  readonly columns: readonly Column[];
  readonly children: readonly JSX.Element[];
}): JSX.Element {
  const more = props.count - SHOWN;
  return (
    <section aria-label={props.title}>
      <header class="section-head">
        <h2>{props.title}</h2>
      </header>
      {props.count === 0 ? (
        <p class="quiet">{props.nothing}</p>
      ) : (
        <>
          <p class="section-note">
            {props.note}
            {more > 0 && ` ${formatCount(more)} more are not shown.`}
          </p>
          <div class="table-frame">
            <table class="table">
              <thead>
                <tr>
                  {props.columns.map(({ title, hint, isWords }) => (
                    <th
                      key={title}
                      scope="col"
                      title={hint}
                      class={isWords === true ? 'cell-words' : ''}
                    >
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>{props.children}</tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
