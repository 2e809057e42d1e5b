/** What the trainings of one session have in common: their position, and the callbacks that can go on. */
import type { NextPosition } from '../../session/last-position.ts';
import type { TrainingSession } from '../../session/training-session.ts';

/** Models whose probes wait for another fit: a session that trains one after the other references a few of them only. */
const MAX_READY = 8;

/** The trainings of a session so far. */
export class SessionTraining<C extends { readonly isTraining: boolean }> {
  #nextStep = 0;
  #nextEpoch: number | undefined;
  #earlier: Promise<NextPosition | undefined> | undefined;
  readonly #ready: { readonly owner: object; readonly options: object; readonly callback: C }[] =
    [];

  /** The step after the last one that was recorded. */
  get nextStep(): number {
    return this.#nextStep;
  }

  /** The epoch after the last one that ended; undefined before the first. */
  get nextEpoch(): number | undefined {
    return this.#nextEpoch;
  }

  /** Moves the position of the session forward to that of one of its trainings. */
  reached(nextStep: number, nextEpoch: number | undefined): void {
    this.#nextStep = Math.max(this.#nextStep, nextStep);
    if (nextEpoch !== undefined) this.#nextEpoch = Math.max(this.#nextEpoch ?? 0, nextEpoch);
  }

  /** Moves the position behind what the run had before this session: `read` is asked once, and again after a failure. */
  async beginBehind(read: () => Promise<NextPosition | undefined>): Promise<void> {
    this.#earlier ??= read();
    try {
      const earlier = await this.#earlier;
      if (earlier !== undefined) this.reached(earlier.nextStep, earlier.nextEpoch);
    } catch (error) {
      this.#earlier = undefined;
      throw error;
    }
  }

  /** The callback that was made for this owner with the same options, unless it has been closed. */
  find(owner: object, options: object): C | undefined {
    return this.#ready.find((one) => one.owner === owner && isSame(one.options, options))?.callback;
  }

  /** Adds a callback; returns the one that has to make room for it, if there are too many. */
  add(owner: object, options: object, callback: C): C | undefined {
    this.#ready.push({ owner, options, callback });
    if (this.#ready.length <= MAX_READY) return undefined;
    const idle = this.#ready.findIndex((one) => !one.callback.isTraining);
    return this.#ready.splice(idle, idle < 0 ? 0 : 1)[0]?.callback;
  }

  remove(callback: C): void {
    const at = this.#ready.findIndex((one) => one.callback === callback);
    if (at >= 0) this.#ready.splice(at, 1);
  }
}

/** One {@link SessionTraining} a session, which goes with it. */
export function trainingsOf<C extends { readonly isTraining: boolean }>(): (
  session: TrainingSession,
) => SessionTraining<C> {
  const trainings = new WeakMap<TrainingSession, SessionTraining<C>>();
  return (session) => {
    const known = trainings.get(session);
    if (known !== undefined) return known;
    const made = new SessionTraining<C>();
    trainings.set(session, made);
    return made;
  };
}

/** Whether two settings are equal. Functions and instances of classes are compared by identity. */
function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof RegExp && b instanceof RegExp) return String(a) === String(b);
  if (a instanceof Set && b instanceof Set) return isSame([...a], [...b]);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (!isPlain(a) || !isPlain(b)) return false;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => isSame(a[name], b[name]));
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
