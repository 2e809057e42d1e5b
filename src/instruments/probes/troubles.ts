/** What goes wrong while probing: one warning event a reason, or, where that is asked for, an error. Training goes on. */
import { isQuarkError, messageOf, QuarkError } from '../../base/errors.ts';
import type { RunHandle } from '../../session/run-handle.ts';
import type { SourceTrouble } from './model-source.ts';

export class Troubles {
  readonly #handle: RunHandle;
  readonly #instrument: string;
  readonly #raises: boolean;
  readonly #counts = new Map<string, number>();
  #error: QuarkError | undefined;
  /** Step the next trouble belongs to. */
  step: number | null = null;

  /** @param raises whether troubles become errors; default: in strict mode */
  constructor(handle: RunHandle, instrument: string, raises: boolean | null) {
    this.#handle = handle;
    this.#instrument = instrument;
    this.#raises = raises ?? handle.strictMode;
  }

  /** How often each reason has come up. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Notes a trouble. Never throws. */
  report({ reason, message }: SourceTrouble, cause?: unknown): void {
    const count = (this.#counts.get(reason) ?? 0) + 1;
    this.#counts.set(reason, count);
    if (this.#raises) {
      const details = { reason, instrument: this.#instrument, step: this.step };
      this.#error ??= new QuarkError('probe_failed', message, { details, cause });
      return;
    }
    if (count > 1) return;
    this.#handle.notify({
      eventType: 'probe_warning',
      severity: 'warning',
      step: this.step,
      epoch: null,
      payload: { message, identifier: 'Warning', reason, instrument: this.#instrument },
    });
  }

  /** Notes an error that a capture ended with. Never throws. */
  failed(what: string, error: unknown): void {
    const code = isQuarkError(error) ? ` (${error.code})` : '';
    this.report(
      { reason: 'capture_failed', message: `${what} failed${code}: ${messageOf(error)}` },
      error,
    );
  }

  /** Throws what has been noted since the last time, if errors are wanted. @throws {QuarkError} `probe_failed` */
  raise(): void {
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
  }
}
