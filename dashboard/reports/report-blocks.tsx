/** The blocks of a report as they are read. */
import type { JSX } from 'preact';
import type { Store } from 'quark-sdk';
import type { ReportBlock, ReportRows } from 'quark-sdk/workspace';
import { useSignal } from '@preact/signals';
import { usePolling } from '../parts/hooks.ts';
import { Markdown } from '../parts/markdown/markdown.tsx';
import { errorText, Waiting, Warning } from '../parts/notices.tsx';
import { t } from '../parts/t.ts';
import { readBlockCurves, readBlockRows } from './block-data.ts';
import { ReportPlot } from './report-plot.tsx';

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
        <Live
          read={() => readBlockCurves(where.store, where.project, block)}
          mark={`${block.metric} ${block.where}`}
        >
          {(curves) => <ReportPlot title={block.metric} curves={curves} />}
        </Live>
      ) : (
        <ReportPlot title={block.metric} curves={block.frozen} />
      );
    case 'runs':
      return block.frozen === undefined ? (
        <Live
          read={() => readBlockRows(where.store, where.project, block)}
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
