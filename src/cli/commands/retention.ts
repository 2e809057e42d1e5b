/** `quark retention`: rules that archive, delete and thin runs, what they would do, and doing it. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isQuarkError, QuarkError, type Store } from '../../index.ts';
import {
  applyRetention,
  describeRule,
  parseRetention,
  planRetention,
  readRetention,
  saveRetention,
  type RetentionPlan,
  type RetentionSettings,
  type RetentionStep,
} from '../../node.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  JSON_OPTION,
  jsonText,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import { recorded, withAuditedStore, type RecordAct } from '../support/audited-store.ts';
import { byteText, counted, localTime, onTerminal, table } from '../support/text.ts';

const ACTIONS = ['plan', 'apply', 'set', 'show', 'clear'] as const;

export const retentionCommand: Command = {
  spec: {
    name: 'retention',
    summary: 'Rules that archive, delete and thin old runs: show what they would do, and do it.',
    positionals: ['plan|apply|set|show|clear', '[FILE]'],
    options: { ...STORAGE_OPTIONS, json: JSON_OPTION },
    notes: [
      'FILE has the rules, as JSON or YAML. "set" stores them with the runs, and a service on this store applies them once a day. "plan" and "apply" take those of FILE, or else those that are stored.',
      'No rule touches runs that are running, runs tagged "keep", and, where it ranks by a metric, runs without it.',
      'A deleted run can be undone for 30 days, or as long as undoDays says.',
    ],
  },
  run(context) {
    const [action, file] = context.args.positionals;
    const known = ACTIONS.find((one) => one === action);
    if (known === undefined)
      throw new UsageError(
        `"quark retention" can plan, apply, set, show and clear; got "${action}"`,
        'retention',
      );
    if (file !== undefined && (known === 'show' || known === 'clear'))
      throw new UsageError(
        `"quark retention ${known}" is about the rules that are stored, and takes no FILE; got "${onTerminal(file)}"`,
        'retention',
      );
    if (known === 'show' || known === 'plan')
      return withStore(context, async (store) => {
        if (known === 'show') await show(context, await readRetention(store));
        else await planOrApply(context, store, file);
        return EXIT.ok;
      });
    return withAuditedStore(context, async (store, record) => {
      if (known === 'set') await set(context, store, record, file);
      else if (known === 'clear') await clear(context, store, record);
      else await planOrApply(context, store, file, record);
      return EXIT.ok;
    });
  },
};

const SPACE = { kind: 'space', id: 'default' } as const;

async function set(
  context: CommandContext,
  store: Store,
  record: RecordAct,
  file: string | undefined,
): Promise<void> {
  if (file === undefined) throw new UsageError('"quark retention set" needs a FILE', 'retention');
  const settings = await rulesIn(context, file);
  await record({
    action: 'retention.set',
    target: SPACE,
    detail: { rules: settings.rules.map(describeRule) },
  });
  await saveRetention(store, settings);
  await show(context, settings);
}

async function clear({ args, io }: CommandContext, store: Store, record: RecordAct): Promise<void> {
  const had = (await readRetention(store)) !== undefined;
  if (had) await record({ action: 'retention.set', target: SPACE, detail: { rules: [] } });
  await saveRetention(store, undefined);
  const text = had ? 'The rules are removed. No run was changed.\n' : 'No rules are stored.\n';
  await io.stdout.write(args.flag('json') ? jsonText({ removed: had }) : text);
}

async function show(
  { args, io }: CommandContext,
  settings: RetentionSettings | undefined,
): Promise<void> {
  if (args.flag('json')) {
    await io.stdout.write(jsonText(settings ?? null));
    return;
  }
  if (settings === undefined) {
    await io.stderr.write('No rules are stored.\n');
    return;
  }
  const lines = settings.rules.map((rule, i) => `${i + 1}. ${onTerminal(describeRule(rule))}\n`);
  const tags = (settings.keepTags ?? []).join(', ');
  await io.stdout.write(
    `${lines.join('')}Never touched: runs that are running, and runs tagged ${onTerminal(tags)}.\n`,
  );
}

async function planOrApply(
  context: CommandContext,
  store: Store,
  file: string | undefined,
  record?: RecordAct,
): Promise<void> {
  const { args, io } = context;
  const applies = record !== undefined;
  const settings = file === undefined ? await readRetention(store) : await rulesIn(context, file);
  if (settings === undefined)
    throw new QuarkError(
      'invalid_input',
      'No rules are stored here. Name a file with rules, or store them with "quark retention set FILE".',
      { details: { field: 'file', rule: 'a file with rules' } },
    );
  const act = {
    action: 'retention.apply',
    target: SPACE,
    detail: { rules: settings.rules.map(describeRule) },
  } as const;
  const report =
    record &&
    (await recorded(record, act, () => applyRetention(store, settings, { by: 'quark retention' })));
  const plan = report?.plan ?? (await planRetention(store, settings));
  if (args.flag('json')) {
    await io.stdout.write(
      jsonText({
        rules: plan.rules,
        steps: (report?.done ?? plan.steps).map(stepJson),
        skipped: (report?.skipped ?? []).map(({ reason, step }) => ({ ...stepJson(step), reason })),
        exempt: plan.exempt,
        is_done: applies,
      }),
    );
    return;
  }
  await io.stdout.write(planText(context, plan, report?.done ?? plan.steps, applies));
  for (const { reason, step } of report?.skipped ?? [])
    await io.stderr.write(`warning: ${step.runId} was left alone: ${onTerminal(reason)}\n`);
}

function planText(
  { io, style }: CommandContext,
  plan: RetentionPlan,
  steps: readonly RetentionStep[],
  isDone: boolean,
): string {
  const lines: string[] = [];
  for (const [index, sentence] of plan.rules.entries()) {
    const own = steps.filter(({ rule }) => rule === index);
    lines.push(`${index + 1}. ${onTerminal(sentence)}: ${counted(own.length, 'run')}\n`);
    if (own.length === 0) continue;
    lines.push(
      table<RetentionStep>(
        [
          { title: isDone ? 'DID' : 'WOULD', cell: ({ act }) => act },
          { title: 'RUN', cell: ({ runId }) => runId },
          { title: 'PROJECT', cell: ({ projectName }) => projectName, isElastic: true },
          { title: 'STATUS', cell: ({ status }) => status },
          { title: 'ENDED', cell: ({ endedAtMs }) => localTime(new Date(endedAtMs).toISOString()) },
          {
            title: 'VALUE',
            cell: ({ value }) => (value === undefined ? '' : String(value)),
            align: 'right',
          },
          { title: 'ROWS', cell: rowsText },
          { title: 'SIZE', cell: ({ bytes }) => byteText(bytes), align: 'right' },
        ],
        own,
        io.stdout.columns,
        style,
      ),
    );
  }
  const deleted = steps.filter(({ act }) => act === 'delete');
  const bytes = deleted.reduce((sum, step) => sum + step.bytes, 0);
  const counts = (what: RetentionStep['act']): number =>
    steps.filter(({ act }) => act === what).length;
  const thinText =
    counts('thin') === 0 ? '' : `, ${isDone ? 'downsampled' : 'thin'} ${counts('thin')}`;
  const { running, tagged, unreadable, 'lately running': lately } = plan.exempt;
  lines.push(
    `${isDone ? 'Deleted' : 'Would delete'} ${counted(deleted.length, 'run')} (${byteText(bytes)}), ${isDone ? 'archived' : 'archive'} ${counts('archive')}${thinText}. Never touched: ${running + lately} running, ${tagged} tagged, ${unreadable} unreadable.\n`,
  );
  return lines.join('');
}

/** `250000 to 1000`, of a run that is downsampled. */
function rowsText({ rows }: RetentionStep): string {
  return rows === undefined ? '' : `${rows.before} to ${rows.after}`;
}

function stepJson(step: RetentionStep): object {
  return {
    act: step.act,
    run_id: step.runId,
    project_name: step.projectName,
    status: step.status,
    ended_at: new Date(step.endedAtMs).toISOString(),
    bytes: step.bytes,
    value: step.value ?? null,
    ...(step.rows === undefined
      ? {}
      : { rows_before: step.rows.before, rows_after: step.rows.after }),
    rule: step.rule,
    because: step.because,
  };
}

async function rulesIn({ io }: CommandContext, file: string): Promise<RetentionSettings> {
  let content: string;
  try {
    content = await readFile(resolve(io.cwd, file), 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new QuarkError('invalid_input', `${file} cannot be read: ${reason}`, {
      details: { field: 'file', value: file },
      cause,
    });
  }
  try {
    return parseRetention(content);
  } catch (error) {
    if (!isQuarkError(error, 'invalid_input')) throw error;
    const { cause, details, message } = error;
    throw new QuarkError('invalid_input', `${file}: ${message} Nothing was changed.`, {
      details: { ...details, file },
      cause,
    });
  }
}
