/** What can only be read after a checkpoint: GPUs, and the memory of a page. Each reading says which checkpoints it is the first one after. */
import type { GpuReading, ProfileReading } from '../../profile/profile.ts';
import { watchGpus, type GpuProcess, type GpuWatch } from './gpu-meter.ts';
import { pageMemory } from './page-meter.ts';

type Waiting = { readonly index: number; readonly atMs: number };
type Take = (reading: ProfileReading) => void;

/** How long the end of a profile waits for the readings of its last checkpoints. */
const LAST_READING_MS = 2000;

/** Collects readings and passes those on that answer a checkpoint or are the highest so far. */
export class LaterReadings {
  readonly #take: Take;
  readonly #originMs: number;
  readonly #gpus: GpuWatch | undefined;
  readonly #pageMemory: (() => Promise<number>) | undefined;
  #waiting: Waiting[] = [];
  #waitingPage: number[] = [];
  #highest = -1;
  #hasGpus = false;
  #isOpen = true;
  #isMeasuring = false;
  #onTaken: (() => void) | undefined;

  /**
   * @param originMs the beginning of the profile by `performance.now`
   * @param gpuProcess Node's process where GPUs are read
   */
  constructor(originMs: number, gpuProcess: GpuProcess | undefined, take: Take) {
    this.#originMs = originMs;
    this.#take = take;
    this.#pageMemory = gpuProcess === undefined ? pageMemory() : undefined;
    this.#gpus =
      gpuProcess === undefined
        ? undefined
        : watchGpus(gpuProcess, ({ atMs, gpus }) => this.#sampled(atMs, gpus));
  }

  /** A checkpoint whose readings are to follow. */
  follow(index: number): void {
    if (this.#gpus !== undefined) this.#waiting.push({ index, atMs: performance.now() });
    if (this.#pageMemory === undefined) return;
    this.#waitingPage.push(index);
    if (!this.#isMeasuring) void this.#measurePage(this.#pageMemory);
  }

  /** Waits a little for the readings of the last checkpoints, where there is a GPU. */
  async close(): Promise<void> {
    if (this.#hasGpus && this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LAST_READING_MS);
        this.#onTaken = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.closeNow();
  }

  closeNow(): void {
    this.#gpus?.close();
    this.#isOpen = false;
  }

  #sampled(atMs: number, gpus: readonly GpuReading[]): void {
    this.#hasGpus = true;
    const answered = this.#waiting.filter((one) => one.atMs <= atMs);
    const value = gpus.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
    if (answered.length === 0 && value <= this.#highest) return;
    this.#highest = Math.max(this.#highest, value);
    this.#waiting = this.#waiting.filter((one) => one.atMs > atMs);
    const checkpoints = answered.map(({ index }) => index);
    this.#take({ measure: 'gpu_bytes', atMs: atMs - this.#originMs, checkpoints, value, gpus });
    if (this.#waiting.length === 0) this.#onTaken?.();
  }

  /** One measurement at a time; checkpoints that come meanwhile wait for the next one. */
  async #measurePage(measure: () => Promise<number>): Promise<void> {
    this.#isMeasuring = true;
    try {
      while (this.#isOpen && this.#waitingPage.length > 0) {
        const checkpoints = this.#waitingPage;
        this.#waitingPage = [];
        const value = await measure();
        const atMs = performance.now() - this.#originMs;
        if (this.#isOpen && Number.isFinite(value))
          this.#take({ measure: 'page_bytes', atMs, checkpoints, value, gpus: [] });
      }
    } catch {
      // The browser refuses: the page has no reading.
    } finally {
      this.#isMeasuring = false;
    }
  }
}
