/** The blocks of a report as they are read. */
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';
import {
  readReportCurves,
  readReportRows,
  type ReportBlock,
  type ReportRows,
} from 'quark-sdk/workspace';
import { useSignal } from '@preact/signals';
import { usePolling } from '../parts/hooks.ts';
import { Markdown } from '../parts/markdown/markdown.tsx';
import { errorText, Waiting, Warning } from '../parts/notices.tsx';
import { t } from '../parts/t.ts';
import { pageText } from './page-text.ts';
import { ReportChart } from './report-chart.tsx';

/** How often what is live is read again. */
const LIVE_POLL_MS = 10_000;

type Of<K extends ReportBlock['kind']> = {
  readonly store: Store;
  readonly project: string;
  readonly block: Extract<ReportBlock, { kind: K }>;
};

/** One block. */
export function BlockView(props: Of<ReportBlock['kind']>): JSX.Element {
  const { block, ...where } = props;
  switch (block.kind) {
    case 'text':
      return <Markdown text={block.text} topLevel={2} />;
    case 'chart':
      return block.frozen === undefined ? (
        <Live read={() => readReportCurves(where, block)} mark={`${block.metric} ${block.where}`}>
          {(curves) => <ReportChart title={block.metric} curves={curves} />}
        </Live>
      ) : (
        <ReportChart title={block.metric} curves={block.frozen} />
      );
    case 'runs':
      return block.frozen === undefined ? (
        <Live
          read={() => readReportRows({ ...where, ...pageText() }, block)}
          mark={`${block.columns.join()} ${block.where}`}
        >
          {(rows) => <RunRows of={rows} />}
        </Live>
      ) : (
        <RunRows of={block.frozen} />
      );
  }
}

/** What is read again for as long as it is on the page. */
function Live<T>(props: {
  readonly read: () => Promise<T>;
  readonly mark: string;
  readonly children: (value: T) => JSX.Element;
}): JSX.Element {
  const found = useSignal<T | undefined>(undefined);
  const { error } = usePolling(
    async () => {
      found.value = await props.read();
    },
    () => LIVE_POLL_MS,
    [props.mark],
  );
  if (error.value !== undefined) return <Warning isError>{errorText(error.value)}</Warning>;
  return found.value === undefined ? (
    <Waiting label={t('Reading the runs')} />
  ) : (
    props.children(found.value)
  );
}

function RunRows({ of: { rows, titles } }: { readonly of: ReportRows }): JSX.Element {
  return (
    <div class="report-rows" tabIndex={0} role="group" aria-label={t('Table of runs')}>
      <table>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            // oxlint-disable-next-line react/no-array-index-key -- a row is a line of a text
            <tr key={row}>
              {cells.map((cell, at) => (
                // oxlint-disable-next-line react/no-array-index-key -- as above
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="nothing">{t('No run matches the query.')}</p>}
    </div>
  );
}
