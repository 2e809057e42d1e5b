import {
  checkLiteral,
  checkOptionalCount,
  checkOptionNames,
  checkTimestamp,
} from '../base/assert.ts';
import { ASYNC_DISPOSE } from '../base/dispose.ts';
import { invalidInput } from '../base/errors.ts';
import { encodeJsonObject, type JsonObject, copyJsonObject } from '../base/json.ts';
import { createId } from '../base/ids.ts';
import { loadPart } from '../base/runtime.ts';
import { checkEventType, checkLabel, checkStorable } from '../base/names.ts';
import { eventTable, type EventRecord } from '../records/event.ts';
import {
  ALERT_CATEGORIES,
  ALERT_SEVERITIES,
  EVENT_SEVERITIES,
  LOG_IDENTIFIERS,
  type AlertCategory,
  type AlertSeverity,
  type EventSeverity,
  type LogIdentifier,
} from '../records/literals.ts';
import { USER_ALERT } from '../records/user-alert.ts';
import type { EventFilter } from '../read/events.ts';
import type { WriterOptions, WriterStatus } from './writer-options.ts';
import { RecordWriter } from './record-writer.ts';
import type { RunContext } from './run-context.ts';
import { handleOf, writeFor, type RunHandle } from './run-handle.ts';
import type { TrainingSession } from './training-session.ts';

/** Options of {@link EventLogger.log}. */
export type LogEventOptions = {
  /** Default: by event type, see {@link defaultSeverity}. */
  readonly severity?: EventSeverity | null | undefined;
  readonly step?: number | null | undefined;
  readonly epoch?: number | null | undefined;
  /** Outcome or state the event reports. */
  readonly status?: string | null | undefined;
  /** Details; a JSON object. */
  readonly payload?: JsonObject | null | undefined;
  /** When it happened. Default: now. */
  readonly timestamp?: string | number | Date | undefined;
};

/** Options of {@link EventLogger.addLog} and `TrainingSession.addLog`. */
export type AddLogOptions = LogEventOptions & {
  /** Kind of the message. Default: `Error` for the severities `error` and `critical`, `Warning` for `warning`, else `Info`. */
  readonly identifier?: LogIdentifier | null | undefined;
  /** Default `user_log`. */
  readonly eventType?: string | undefined;
};

/** Severity of event types that have one of their own. */
export const DEFAULT_EVENT_SEVERITIES: Readonly<Record<string, EventSeverity>> = Object.freeze({
  run_started: 'info',
  run_resumed: 'info',
  run_ended: 'info',
  user_log: 'info',
  checkpoint_saved: 'info',
  checkpoint_loaded: 'info',
  probe_completed: 'debug',
  epoch_started: 'debug',
  epoch_ended: 'info',
  runtime_error: 'error',
  runtime_interruption: 'warning',
  non_finite_metric: 'warning',
  records_dropped: 'error',
  rows_recovered: 'warning',
  sync_segment_refused: 'error',
  sync_service_lost_rows: 'warning',
});

const SEVERITY_OF_IDENTIFIER: Readonly<Record<LogIdentifier, EventSeverity>> = {
  Info: 'info',
  Warning: 'warning',
  Error: 'error',
};
const identifierOf = (severity: EventSeverity): LogIdentifier => {
  if (severity === 'error' || severity === 'critical') return 'Error';
  return severity === 'warning' ? 'Warning' : 'Info';
};
const EVENT_OPTION_NAMES = ['severity', 'step', 'epoch', 'status', 'payload', 'timestamp'] as const;
const LOG_OPTION_NAMES = [...EVENT_OPTION_NAMES, 'identifier', 'eventType'];
const RESERVED_PAYLOAD_KEYS = ['message', 'identifier'] as const;

/**
 * The severity an event gets when none is given: that of {@link DEFAULT_EVENT_SEVERITIES}; else by the last word of its type (`error`, `failed`, `failure`, `exception`: `error`;
 * `warning`, `debug`; `critical`, `fatal`: `critical`); else `info`.
 *
 * @example
 * ```js
 * import { defaultSeverity } from 'quark-sdk';
 *
 * console.log(defaultSeverity('epoch_started')); // debug: it is in DEFAULT_EVENT_SEVERITIES
 * console.log(defaultSeverity('download_failed')); // error: its last word
 * console.log(defaultSeverity('batch_skipped')); // info: all else
 * ```
 */
export function defaultSeverity(eventType: string): EventSeverity {
  const known = Object.hasOwn(DEFAULT_EVENT_SEVERITIES, eventType)
    ? DEFAULT_EVENT_SEVERITIES[eventType]
    : undefined;
  if (known !== undefined) return known;
  const lastWord = /[a-z0-9]*$/.exec(eventType)?.[0];
  switch (lastWord) {
    case 'error':
    case 'failed':
    case 'failure':
    case 'exception':
      return 'error';
    case 'warning':
      return 'warning';
    case 'debug':
      return 'debug';
    case 'critical':
    case 'fatal':
      return 'critical';
    default:
      return 'info';
  }
}

/**
 * Records structured events and log messages. Synchronous; written in the background like metrics.
 *
 * @example
 * ```js
 * import { endRun, EventLogger, startRun } from 'quark-sdk';
 *
 * const session = await startRun({ project: 'digits', storageDir: 'quark-runs' });
 * const events = new EventLogger(session);
 * events.log('checkpoint_saved', { step: 500, payload: { path: 'model-500.bin' } });
 * events.addLog('The data set was shuffled.', { epoch: 1 });
 * for (const { eventType, severity, payload } of await events.read({ severity: 'info' })) console.log(eventType, severity, payload);
 * await endRun(session);
 * ```
 */
export class EventLogger implements AsyncDisposable {
  readonly #handle: RunHandle;
  readonly #writer: RecordWriter<typeof eventTable.columns>;

  /**
   * @param session a session, or a context made by one
   * @throws {QuarkError} `invalid_input` naming the option
   */
  constructor(session: TrainingSession | RunContext, options: WriterOptions = {}) {
    this.#handle = handleOf(session);
    this.#writer = new RecordWriter(this.#handle, eventTable, options, { isAttached: true });
  }

  /** How many events are buffered, how many were dropped, and why writing failed last. */
  get status(): WriterStatus {
    return this.#writer.status;
  }

  /**
   * Records an event.
   *
   * @param eventType a lowercase letter, then lowercase letters, digits, "_", ".", "/" or "-"
   * @throws {QuarkError} `invalid_input` naming field, value and rule; `writer_closed`; `invalid_run_state`
   */
  log(eventType: string, options: LogEventOptions = {}): EventRecord {
    const event = createEvent(this.#handle, eventType, options);
    this.#writer.add(event);
    return event;
  }

  /**
   * Records a message. The payload gets the keys `message` and `identifier`, which may not be in it already.
   *
   * @throws {QuarkError} as {@link log}
   */
  addLog(message: string, options: AddLogOptions = {}): EventRecord {
    return this.log(...logEvent(message, options));
  }

  /**
   * Makes every event so far durable and returns those this call wrote, with their sequence numbers.
   *
   * @throws {SessionStoreError} in strict mode, when the store failed. Without it the failure is in `status`. In both modes the
   *   events stay buffered and are retried
   */
  flush(): Promise<readonly EventRecord[]> {
    return this.#writer.flush();
  }

  /**
   * Events of the run in the order they were persisted, after a flush when the logger is open.
   *
   * @throws {QuarkError} `invalid_input` naming the filter
   */
  async read(filter: EventFilter = {}): Promise<readonly EventRecord[]> {
    await this.#writer.drainOpen();
    const { readEvents } = await loadPart(
      'Reading events',
      async () => import('../read/events.ts'),
    );
    return (await readEvents(this.#handle, filter)).records;
  }

  /** {@link flush} without the events. @internal */
  drain(): Promise<void> {
    return writeFor(this.#handle, () => this.#writer.drain());
  }

  /** Flushes and closes the logger; `log` throws `writer_closed` afterwards, `read` still works. */
  close(): Promise<void> {
    return writeFor(this.#handle, () => this.#writer.close());
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }
}

/** A checked event. @throws {QuarkError} `invalid_input` */
export function createEvent(
  handle: Pick<RunHandle, 'clock' | 'runId'>,
  eventType: string,
  options: LogEventOptions,
): EventRecord {
  checkOptionNames('options', options, EVENT_OPTION_NAMES);
  const { severity, status, payload, timestamp } = options;
  checkEventType(eventType);
  const values = {
    runId: handle.runId,
    sequence: null,
    timestamp: checkTimestamp(timestamp, handle.clock),
    eventType,
    severity:
      severity === undefined || severity === null
        ? defaultSeverity(eventType)
        : checkLiteral('severity', severity, EVENT_SEVERITIES),
    step: checkOptionalCount('step', options.step),
    epoch: checkOptionalCount('epoch', options.epoch),
    status: status === undefined || status === null ? null : checkLabel('status', status),
    payload: copyJsonObject('payload', payload ?? {}),
  };
  return eventTable.wrap(values);
}

/** Options of `TrainingSession.alert`. */
export type UserAlertOptions = {
  /** The finding in a few words, on one line. */
  readonly title: string;
  /** What was found, in a sentence or two. */
  readonly text: string;
  /** Default `warning`. */
  readonly severity?: AlertSeverity | undefined;
  /** Which health score it lowers. Default `optimization`. */
  readonly category?: AlertCategory | undefined;
  readonly step?: number | null | undefined;
  readonly epoch?: number | null | undefined;
};

/** The event of an alert that the program raises. @throws {QuarkError} `invalid_input` naming the option */
export function alertEvent(
  handle: Pick<RunHandle, 'clock' | 'runId'>,
  options: UserAlertOptions,
): EventRecord {
  checkOptionNames('options', options, ['title', 'text', 'severity', 'category', 'step', 'epoch']);
  const { category = 'optimization', epoch, severity = 'warning', step } = options;
  return createEvent(handle, USER_ALERT, {
    step,
    epoch,
    severity: checkLiteral('severity', severity, ALERT_SEVERITIES),
    payload: {
      alert_id: createId('alr', handle.clock.now()),
      title: checkLabel('title', options.title),
      text: checkStorable('text', options.text),
      category: checkLiteral('category', category, ALERT_CATEGORIES),
      severity,
    },
  });
}

/** The event of a log message. @throws {QuarkError} `invalid_input` */
export function logEvent(
  message: string,
  options: AddLogOptions,
): [eventType: string, options: LogEventOptions] {
  checkOptionNames('options', options, LOG_OPTION_NAMES);
  const { identifier, severity, eventType = 'user_log', payload, ...rest } = options;
  if (typeof message !== 'string' || message === '')
    throw invalidInput('message', message, 'non-empty text');
  const level =
    severity === undefined || severity === null
      ? undefined
      : checkLiteral('severity', severity, EVENT_SEVERITIES);
  const kind = checkLiteral(
    'identifier',
    identifier ?? identifierOf(level ?? 'info'),
    LOG_IDENTIFIERS,
  );
  if (payload !== undefined && payload !== null) encodeJsonObject('payload', payload);
  for (const key of RESERVED_PAYLOAD_KEYS) {
    if (payload !== undefined && payload !== null && Object.hasOwn(payload, key)) {
      throw invalidInput(`payload.${key}`, payload[key], 'left out: the key is reserved');
    }
  }
  return [
    eventType,
    {
      ...rest,
      severity: level ?? SEVERITY_OF_IDENTIFIER[kind],
      payload: { ...payload, message, identifier: kind },
    },
  ];
}
