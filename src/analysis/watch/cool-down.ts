/** How often an alert is told again. */
import { ALERT_SEVERITIES, type AlertSeverity } from '../../records/literals.ts';

/** Lets an alert of a rule through once, and again after a while, or when it gets worse. */
export class CoolDown {
  readonly #cooldownMs: number;
  readonly #admitted = new Map<
    string,
    { readonly atMs: number; readonly severity: AlertSeverity }
  >();

  constructor(cooldownMs: number) {
    this.#cooldownMs = cooldownMs;
  }

  /** @param key the rule, and for a rule of one's own what it is about */
  admits(key: string, severity: AlertSeverity, nowMs: number): boolean {
    const before = this.#admitted.get(key);
    const isWorse =
      before !== undefined &&
      ALERT_SEVERITIES.indexOf(severity) > ALERT_SEVERITIES.indexOf(before.severity);
    if (before !== undefined && !isWorse && nowMs - before.atMs < this.#cooldownMs) return false;
    this.#admitted.set(key, { atMs: nowMs, severity });
    return true;
  }
}
