/** Which units have been dead for how many probes. */
const FOREVER = 65_535;

export class DeadUnits {
  readonly #probes: number;
  readonly #streaks = new Map<string, Uint16Array>();

  /** @param probes probes in a row that make a unit persistently dead */
  constructor(probes: number) {
    this.#probes = probes;
  }

  /** Adds a probe of one output; says how many units were dead in it, and how many have been for long. */
  add(output: string, dead: Uint8Array): { readonly now: number; readonly persistent: number } {
    let streaks = this.#streaks.get(output);
    if (streaks?.length !== dead.length) {
      streaks = new Uint16Array(dead.length);
      this.#streaks.set(output, streaks);
    }
    let now = 0;
    let persistent = 0;
    for (let unit = 0; unit < dead.length; unit++) {
      if (dead[unit] === 0) {
        streaks[unit] = 0;
        continue;
      }
      const streak = Math.min(FOREVER, (streaks[unit] ?? 0) + 1);
      streaks[unit] = streak;
      now += 1;
      if (streak >= this.#probes) persistent += 1;
    }
    return { now, persistent };
  }
}
