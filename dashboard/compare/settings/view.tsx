/** What the runs were made with: configuration, code, packages and environment, and where these differ. */
import type { JSX } from 'preact';
import type { JsonObject, JsonValue } from 'quark-sdk';
import { compareSettings, type SettingRow } from 'quark-sdk/analysis';
import { csvBlob } from '../../charts/save/save-csv.ts';
import { downloadName, saveBlob } from '../../charts/save/save-file.ts';
import { SaveMenu } from '../../charts/save/save-menu.tsx';
import { countBy } from '../../parts/maps.ts';
import { SectionHead } from '../../parts/notices.tsx';
import { t, tn } from '../../parts/t.ts';
import { environmentWords } from '../../run/facts/environment-words.ts';
import type { ComparisonState, ComparisonTabProps } from '../comparison-state.ts';
import { ScrollTable, Head } from '../scroll-table.tsx';
import { hasText, SearchField } from '../group-controls.tsx';
import { RunSwatch } from '../run-marks.tsx';
import { CodeSection } from './code-section.tsx';
import './style.css';

/** Runs that have a column. */
const MAX_COLUMNS = 60;
/** Rows of one table. */
const MAX_ROWS = 500;

/** The tab. */
export default function SettingsView({ state }: ComparisonTabProps): JSX.Element {
  void state.recordsRevision.value;
  const runs = state.runs.summaries.map(({ run }) => run);
  const shown = runs.slice(0, MAX_COLUMNS);
  return (
    <div class="stack compare-settings">
      <div class="compare-controls row wrap gap-12">
        <label class="switch small">
          <input
            type="checkbox"
            checked={state.showsAll.value}
            onChange={(event) => {
              state.showsAll.value = event.currentTarget.checked;
            }}
          />
          <span>{t('Show what does not differ, too')}</span>
        </label>
        <SearchField state={state} label={t('Search settings')} />
      </div>
      {runs.length > shown.length && (
        <p class="quiet small">
          {t('The tables have the first {most} of {count} runs.', {
            most: MAX_COLUMNS,
            count: runs.length,
          })}
        </p>
      )}
      <SettingTable
        state={state}
        title={t('Configuration')}
        runIds={shown.map(({ id }) => id)}
        rows={compareSettings(shown.map(({ config }) => config))}
      />
      <CodeSection state={state} />
      <SettingTable
        state={state}
        title={t('Environment')}
        runIds={shown.map(({ id }) => id)}
        rows={compareSettings(shown.map(({ environment }) => wordsOf(environment)))}
      />
    </div>
  );
}

/** The environment as people read it; ids of processes are never the same, and say nothing. */
function wordsOf(environment: JsonObject): JsonObject {
  const { process_id: _id, ...rest } = environment;
  const words: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(environmentWords(rest)))
    if (isJson(value)) words[name] = value;
  return words;
}

function isJson(value: unknown): value is JsonValue {
  return value !== undefined && typeof value !== 'function';
}

function SettingTable(props: {
  readonly state: ComparisonState;
  readonly title: string;
  readonly runIds: readonly string[];
  readonly rows: readonly SettingRow[];
}): JSX.Element {
  const { rows, runIds, state, title } = props;
  const wanted = rows.filter(
    ({ isDifferent, path }) =>
      (isDifferent || state.showsAll.value) && hasText(path, state.search.value),
  );
  const shown = wanted.slice(0, MAX_ROWS);
  const sameCount = rows.filter(({ isDifferent }) => !isDifferent).length;
  return (
    <section aria-label={title}>
      <SectionHead title={title}>
        <span class="quiet small">
          {tn(rows.length - sameCount, '{count} differs', '{count} differ')}
          {', '}
          {tn(sameCount, '{count} is the same in all runs', '{count} are the same in all runs')}
        </span>
        <SaveMenu
          name={title}
          ways={() => [
            {
              label: 'CSV',
              hint: t('the rows that are shown'),
              save: async () =>
                saveBlob(downloadName([title], 'csv'), await csvOf(state, runIds, wanted)),
            },
          ]}
        />
      </SectionHead>
      {shown.length === 0 ? (
        <p class="quiet">{t('Nothing here differs between these runs.')}</p>
      ) : (
        <ScrollTable
          label={t('Table: {name}', { name: title })}
          class="setting-scroll"
          head={<RunHeads state={state} runIds={runIds} />}
        >
          {shown.map((row) => (
            <SettingLine key={row.path} row={row} runIds={runIds} />
          ))}
        </ScrollTable>
      )}
      {wanted.length > shown.length && (
        <p class="quiet small">
          {tn(wanted.length - shown.length, '{count} more row', '{count} more rows')}
        </p>
      )}
    </section>
  );
}

function RunHeads(props: {
  readonly state: ComparisonState;
  readonly runIds: readonly string[];
}): JSX.Element {
  return (
    <>
      <Head isFirst>{t('Name')}</Head>
      {props.runIds.map((runId) => (
        <Head key={runId}>
          <span class="inline gap-6">
            <RunSwatch styleKey={runId} />
            <span class="breakable">{props.state.runs.nameOf(runId)}</span>
          </span>
        </Head>
      ))}
    </>
  );
}

function SettingLine(props: {
  readonly row: SettingRow;
  readonly runIds: readonly string[];
}): JSX.Element {
  const { row, runIds } = props;
  const odd = oddOnes(row.values.map(valueText));
  return (
    <tr>
      <th scope="row" class="is-first">
        {row.path}
      </th>
      {row.values.map((value, at) => {
        const text = valueText(value);
        return (
          <td key={runIds[at]} class={`code setting-value${odd.has(at) ? ' is-odd' : ''}`}>
            {text ?? <span class="quiet">–</span>}
          </td>
        );
      })}
    </tr>
  );
}

function valueText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Positions of the values that are not what more than half of the runs have; none where no value is so usual. */
function oddOnes(texts: readonly (string | undefined)[]): ReadonlySet<number> {
  const counts = countBy(texts, (text) => text);
  const usual = [...counts].find(([, count]) => 2 * count > texts.length);
  if (usual === undefined) return new Set();
  return new Set([...texts.keys()].filter((at) => texts[at] !== usual[0]));
}

function csvOf(
  state: ComparisonState,
  runIds: readonly string[],
  rows: readonly SettingRow[],
): Promise<Blob> {
  return csvBlob(
    ['name', ...runIds.map((runId) => state.runs.nameOf(runId))],
    rows.map(({ path, values }) => [path, ...values.map(valueText)]),
  );
}
