/** What is done about alerts, beside the look that brought them: nobody but the end of a watch waits for it. */
import { errorOf, messageOf } from '../../base/errors.ts';
import type { AlertRecord } from '../../records/alert.ts';
import type { EventSeverity } from '../../records/literals.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import { isFor, type WatchAction, type WatchSettings } from './watch-options.ts';

/** Longest time that a webhook may take. */
const WEBHOOK_TIMEOUT_MS = 10_000;
/** How long the end of a watch waits for callbacks: one of them may be waiting for that end itself. */
const CALLBACK_WAIT_MS = 2000;

/** How a `log` action says how bad it is. */
const LOGGED_AS = {
  info: 'Info',
  warning: 'Warning',
  error: 'Error',
  critical: 'Error',
} as const;

export class AlertActions {
  readonly #runId: string;
  readonly #handle: RunHandle | undefined;
  readonly #settings: WatchSettings;
  readonly #posts = new Set<Promise<void>>();
  readonly #calls = new Set<Promise<void>>();
  #failures = 0;
  #lastFailure: Error | null = null;

  constructor(
    { handle, runId }: { readonly handle: RunHandle | undefined; readonly runId: string },
    settings: WatchSettings,
  ) {
    this.#runId = runId;
    this.#handle = handle;
    this.#settings = settings;
  }

  /** Actions that failed. */
  get failures(): number {
    return this.#failures;
  }

  /** Why the last of them did. */
  get lastFailure(): Error | null {
    return this.#lastFailure;
  }

  /** Begins what is to be done about an alert. Not waited for: it may wait for a flush, which waits for the look. */
  start(alert: AlertRecord): void {
    this.#start(this.#calls, () => this.#settings.onAlert(alert));
    for (const action of this.#settings.actions)
      if (isFor(action, alert))
        this.#start(action.kind === 'webhook' ? this.#posts : this.#calls, () =>
          this.#do(action, alert),
        );
  }

  /** Waits for webhooks, and a moment for callbacks. */
  async settle(): Promise<void> {
    await Promise.all(this.#posts);
    if (this.#calls.size === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Not the clock's: Node has to stay for this one.
    const moment = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CALLBACK_WAIT_MS);
    });
    await Promise.race([Promise.all(this.#calls), moment]);
    clearTimeout(timer);
  }

  #start(pending: Set<Promise<void>>, action: () => void | Promise<void>): void {
    const running = this.#act(action).finally(() => pending.delete(running));
    pending.add(running);
  }

  async #act(action: () => void | Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#failures++;
      this.#lastFailure = errorOf(error);
      if (this.#failures > 1) return;
      this.#handle?.notify({
        eventType: 'alert_action_failed',
        severity: 'warning',
        step: null,
        epoch: null,
        payload: { message: messageOf(error) },
      });
    }
  }

  async #do(action: WatchAction, alert: AlertRecord): Promise<void> {
    switch (action.kind) {
      case 'log':
        this.#log(alert);
        return;
      case 'callback':
        await action.callback(alert);
        return;
      case 'stop':
        this.#handle?.requestStop(alert.title);
        return;
      case 'webhook':
        await this.#post(action, alert);
    }
  }

  #log({ severity, stepEnd, summary }: AlertRecord): void {
    const logged: EventSeverity = severity === 'critical' ? 'error' : severity;
    this.#handle?.notify({
      eventType: 'user_log',
      severity: logged,
      step: stepEnd,
      epoch: null,
      payload: { message: summary, identifier: LOGGED_AS[severity] },
    });
  }

  /** @throws {Error} naming the server, and nothing else of the address: paths of webhooks are secrets */
  async #post(
    { headers, url }: Extract<WatchAction, { kind: 'webhook' }>,
    alert: AlertRecord,
  ): Promise<void> {
    const name = `The webhook at ${new URL(url).host}`;
    let response: Response;
    try {
      response = await this.#settings.fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ run_id: this.#runId, alert: alert.toDict() }),
        // A redirect makes a GET of the POST, which loses the alert, and may take the headers to somebody else.
        redirect: 'manual',
        signal: AbortSignal.timeout(WEBHOOK_TIMEOUT_MS),
      });
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new Error(`${name} was not reached: ${messageOf(cause)}.`, { cause: error });
    }
    // Nobody reads what it says; without this its connection stays open.
    await response.body?.cancel().catch(() => undefined);
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400))
      throw new Error(`${name} answered with a redirect, which is not followed.`);
    if (!response.ok) throw new Error(`${name} answered with status ${response.status}.`);
  }
}
