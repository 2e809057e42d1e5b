/** `quark events RUN`: what happened in a run. */
import { EVENT_SEVERITIES, type EventFilter, type EventRecord } from '../../index.ts';
import { exportEventsJsonLines } from '../../exchange.ts';
import {
  EXIT,
  findRunByPrefix,
  JSON_OPTION,
  STORAGE_OPTIONS,
  warnOfDamage,
  withStore,
  type Command,
} from '../support/command.ts';
import { localTime, table, type Style } from '../support/text.ts';

export const eventsCommand: Command = {
  spec: {
    name: 'events',
    summary: 'List what happened in a run.',
    positionals: ['RUN'],
    options: {
      ...STORAGE_OPTIONS,
      type: { kind: 'list', value: 'TYPE', help: 'Only events of this type, such as run_started.' },
      severity: {
        kind: 'text',
        value: 'SEVERITY',
        help: 'Only events of this severity.',
        choices: EVENT_SEVERITIES,
      },
      'step-min': { kind: 'count', value: 'N', help: 'Only events at or after this step.' },
      'step-max': { kind: 'count', value: 'N', help: 'Only events up to this step.' },
      limit: { kind: 'count', value: 'N', help: 'At most so many events.' },
      json: {
        ...JSON_OPTION,
        help: 'Write one JSON object a line; errors (on standard error) as JSON, too.',
      },
    },
  },
  run: ({ io, args, style }) =>
    withStore({ io, args }, async (store) => {
      const reader = await findRunByPrefix(store, args.positionals[0] ?? '');
      const types = args.list('type');
      const severity = EVENT_SEVERITIES.find((known) => known === args.text('severity'));
      const stepMin = args.count('step-min');
      const stepMax = args.count('step-max');
      const limit = args.count('limit');
      const filter: EventFilter = {
        ...(types === undefined ? {} : { eventTypes: types }),
        ...(severity === undefined ? {} : { severity }),
        ...(stepMin === undefined ? {} : { stepMin }),
        ...(stepMax === undefined ? {} : { stepMax }),
        ...(limit === undefined ? {} : { limit }),
      };
      if (args.flag('json')) {
        for await (const lines of exportEventsJsonLines(reader, filter))
          await io.stdout.write(lines);
        await warnOfDamage(io, reader);
        return EXIT.ok;
      }
      const events = await reader.readEvents(filter);
      if (events.length === 0) await io.stderr.write('No events.\n');
      else await io.stdout.write(eventTable(events, io.stdout.columns, style));
      await warnOfDamage(io, reader);
      return EXIT.ok;
    }),
};

function eventTable(
  events: readonly EventRecord[],
  width: number | undefined,
  style: Style,
): string {
  return table<EventRecord>(
    [
      { title: 'TIME', cell: ({ timestamp }) => localTime(timestamp) },
      {
        title: 'SEVERITY',
        cell: ({ severity }) => severity,
        style: ({ severity }) => severityStyle(style, severity),
      },
      { title: 'TYPE', cell: ({ eventType }) => eventType },
      { title: 'STEP', cell: ({ step }) => (step === null ? '' : String(step)), align: 'right' },
      {
        title: 'EPOCH',
        cell: ({ epoch }) => (epoch === null ? '' : String(epoch)),
        align: 'right',
      },
      { title: 'PAYLOAD', cell: payloadText, isElastic: true },
    ],
    events,
    width,
    style,
  );
}

function payloadText({ status, payload }: EventRecord): string {
  const parts = Object.entries(payload).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return (status === null ? parts : [status, ...parts]).join(' ');
}

function severityStyle(style: Style, severity: string): (text: string) => string {
  if (severity === 'error' || severity === 'critical') return style.red;
  return severity === 'warning' ? style.yellow : (text) => text;
}
