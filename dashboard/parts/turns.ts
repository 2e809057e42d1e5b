/** Work of a page in turns of the event loop: events of the user are handled in between. */

/** How long one turn may go on before the next task waits for another, in milliseconds. A frame of a smooth page takes 16. */
const TURN_MS = 8;

/** Resolves in a later turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** How long drawing is waited for: a hidden page has no frames. */
const PAINT_WAIT_MS = 250;
/** Charts are made when they are seen to be on screen, and drawn in a turn after that. */
const FRAMES_UNTIL_DRAWN = 4;

/** Resolves when what was just put on the page has been drawn. */
export function afterPaint(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PAINT_WAIT_MS);
    const frame = (left: number): void => {
      if (left === 0) {
        clearTimeout(timer);
        resolve();
      } else requestAnimationFrame(() => frame(left - 1));
    };
    frame(FRAMES_UNTIL_DRAWN);
  });
}

/** Work that the screen waits for, and those who let it go first. */
let urgentCount = 0;
const patient = new Set<() => void>();
/** How long anything is put off at most, in milliseconds. */
const PATIENCE_MS = 5_000;

/** Does what the screen waits for: {@link whenQuiet} resolves after it. */
export async function urgently<T>(work: Promise<T>): Promise<T> {
  urgentCount += 1;
  try {
    return await work;
  } finally {
    urgentCount -= 1;
    if (urgentCount === 0) for (const go of patient) go();
  }
}

/** Resolves when the page has been drawn and nothing is under way that the screen waits for: for requests that can come later. */
export async function whenQuiet(): Promise<void> {
  await afterPaint();
  if (urgentCount === 0) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => go(), PATIENCE_MS);
    const go = (): void => {
      clearTimeout(timer);
      patient.delete(go);
      resolve();
    };
    patient.add(go);
  });
}

/** Resolves after the messages that wait, in a hidden tab too. A timer would wait for four milliseconds, there for a second. */
export function nextMessage(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
}

/** For work in small steps: pauses now and then, so that none of it blocks the page. */
export class TurnBreak {
  #endMs: number;

  constructor() {
    this.#endMs = performance.now() + TURN_MS;
  }

  /** Waits for another turn if this one has taken long. Takes what a step gave, which is nothing. */
  async pause(_step?: void): Promise<void> {
    if (performance.now() < this.#endMs) return;
    await nextTurn();
    this.#endMs = performance.now() + TURN_MS;
  }
}

/** Tasks that are run one after the other, a few in each turn. */
export class TaskQueue {
  readonly #tasks = new Map<object, () => void>();
  readonly #turnMs: number;
  #isWaiting = false;
  #endMs = 0;

  constructor(turnMs: number = TURN_MS) {
    this.#turnMs = turnMs;
  }

  /** Runs `task` soon. Another task of this owner that waits is replaced, at its position in the queue. */
  add(owner: object, task: () => void): void {
    this.#tasks.set(owner, task);
    this.#wait();
  }

  /** Whether a task of this owner waits. */
  has(owner: object): boolean {
    return this.#tasks.has(owner);
  }

  /** Forgets the task of this owner. */
  drop(owner: object): void {
    this.#tasks.delete(owner);
  }

  /**
   * The rest waits for another turn. For a task that drew on a canvas: a browser fills in its lines after the task, which the task cannot
   * measure.
   */
  endTurn(): void {
    this.#endMs = 0;
  }

  #wait(): void {
    if (this.#isWaiting || this.#tasks.size === 0) return;
    this.#isWaiting = true;
    setTimeout(() => this.#turn(), 0);
  }

  #turn(): void {
    this.#isWaiting = false;
    this.#endMs = performance.now() + this.#turnMs;
    try {
      for (const [owner, task] of this.#tasks) {
        this.#tasks.delete(owner);
        task();
        if (performance.now() >= this.#endMs) break;
      }
    } finally {
      this.#wait();
    }
  }
}

/** How long charts are made in one turn: what they show is rendered at its end. */
const DRAWING_MS = 6;

/** The queue that charts are made and drawn in. */
export const drawing: TaskQueue = new TaskQueue(DRAWING_MS);
