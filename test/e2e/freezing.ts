/**
 * Tabs of a Chromium that can be frozen, as it does by itself with tabs in the background: their timers and tasks stop. Playwright makes
 * its pages believe that they have the focus, and such a page is never frozen: these are tabs that it does not know of.
 */
import type { Browser, CDPSession } from 'playwright';

type Facts = Readonly<Record<string, unknown>>;
type Answer = { readonly id?: number; readonly result: Facts; readonly error?: unknown };

/** Opens a tab in the profile that all tabs of this function share. */
export async function openFreezableTab(browser: Browser, url: string): Promise<FreezableTab> {
  const devtools = await browser.newBrowserCDPSession();
  const { targetId } = await devtools.send('Target.createTarget', { url });
  const { sessionId } = await devtools.send('Target.attachToTarget', { targetId, flatten: false });
  return new FreezableTab(devtools, sessionId);
}

/** See the top of this file. */
export class FreezableTab {
  readonly #devtools: CDPSession;
  readonly #sessionId: string;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #lastId = 0;

  constructor(devtools: CDPSession, sessionId: string) {
    this.#devtools = devtools;
    this.#sessionId = sessionId;
    devtools.on('Target.receivedMessageFromTarget', ({ message }) => {
      const answer = JSON.parse(message) as Answer;
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer);
    });
  }

  /** What an expression comes to, as JSON has it; a promise is waited for, for ever while the page is frozen. */
  async evaluate(expression: string): Promise<unknown> {
    const { exceptionDetails, result } = await this.#send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as Facts)['value'];
  }

  /** Stops the timers and tasks of the page. Expressions without a promise are evaluated. */
  async freeze(): Promise<void> {
    await this.#send('Page.setWebLifecycleState', { state: 'frozen' });
  }

  async thaw(): Promise<void> {
    await this.#send('Page.setWebLifecycleState', { state: 'active' });
  }

  async #send(method: string, params: Facts): Promise<Facts> {
    const id = ++this.#lastId;
    const answered = new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
    });
    const message = JSON.stringify({ id, method, params });
    await this.#devtools.send('Target.sendMessageToTarget', {
      sessionId: this.#sessionId,
      message,
    });
    const { error, result } = await answered;
    this.#waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }
}
