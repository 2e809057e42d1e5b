/**
 * Who judges a run while it goes on: a worker of its own, and the calling thread where no worker can be had. A worker that
 * dies takes with it what it had folded; the next one is given the run again from the store.
 */
import { systemClock } from '../../base/clock.ts';
import { isQuarkError, messageOf } from '../../base/errors.ts';
import { nextTask } from '../../base/next-task.ts';
import { WorkerClient } from '../../kernel/workers/client.ts';
import { processSlots } from '../../kernel/workers/slots.ts';
import {
  workerWays,
  type WorkerLike,
  type WorkerMode,
  type WorkerWay,
  type WorkerWayName,
} from '../../kernel/workers/spawn.ts';
import type { RunInfo } from '../columns/run-columns.ts';
import type { AnalyzerSettings } from '../evaluate/analyzer-config.ts';
import { LiveEvaluator } from './live-evaluator.ts';
import type { RuleMemory } from './live-rules.ts';
import type { LiveAnswer, LiveRequest, Load } from './messages.ts';
import { WATCH_WORKER } from '../worker/worker-file.ts';

/** A worker that has not answered its first message by then counts as not working. */
const START_TIMEOUT_MS = 20_000;
/** One that has not answered a question by then is given up. */
const CALL_TIMEOUT_MS = 60_000;
/** Workers that may die until the calling thread goes on by itself. */
const MAX_DEATHS = 3;

/** How workers are made; see `WatchOptions`. */
export type JudgeOptions = {
  readonly workerMode: WorkerMode;
  readonly spawn: (() => WorkerLike) | undefined;
};

/** What to ask about. */
export type Question = {
  readonly run: RunInfo;
  readonly nowMs: number;
  /** Ask the rules in any case. */
  readonly isUrgent: boolean;
};

/** Who was asked has died: give the next one everything from the beginning, and ask again. */
export class JudgeLost extends Error {}

export class WatchJudge {
  readonly #settings: AnalyzerSettings;
  readonly #ways: readonly WorkerWay[];
  readonly #failures: string[] = [];
  #opening: Promise<WorkerClient | undefined>;
  #way: WorkerWayName = 'pending';
  #here: LiveEvaluator | undefined;
  #memory: RuleMemory | undefined;
  #runSent: RunInfo | undefined;
  #deaths = 0;
  #isClosed = false;

  constructor(settings: AnalyzerSettings, { spawn, workerMode }: JudgeOptions) {
    this.#settings = settings;
    // A function of the program cannot be sent to a worker: then the calling thread judges.
    const isHere = settings.rules.coded.length > 0;
    this.#ways = isHere ? [] : workerWays(WATCH_WORKER, workerMode, spawn);
    // Before there is anything to judge: starting takes a worker some tens of milliseconds.
    this.#opening = this.#open();
  }

  /** The way to the worker; `none` for the calling thread. */
  get way(): WorkerWayName {
    return this.#way;
  }

  /** What stood in the way of each way that was tried, and what workers died of. */
  get failures(): readonly string[] {
    return [...this.#failures];
  }

  /** Hands over a load, whose buffer is gone afterwards, and asks. @throws {JudgeLost} */
  async run(load: Load | undefined, question?: Question): Promise<LiveAnswer> {
    const { buffer, batches } = load ?? nothing();
    const client = await this.#opening;
    if (client === undefined) {
      this.#here ??= new LiveEvaluator(this.#settings, this.#memory, nextTask);
      return this.#here.take({ batches, ...this.#question(question) }, buffer);
    }
    const free = processSlots().begin();
    try {
      const answer = await ask(client, { batches, ...this.#question(question) }, buffer);
      this.#memory = answer.memory;
      return answer;
    } catch (error) {
      this.#lost(client, error);
      throw new JudgeLost();
    } finally {
      free();
    }
  }

  /** Ends the worker. */
  async close(): Promise<void> {
    this.#isClosed = true;
    (await this.#opening)?.terminate();
  }

  #question(question: Question | undefined): Pick<LiveRequest, 'question'> {
    if (question === undefined) return {};
    const { run, ...others } = question;
    const isNew = run !== this.#runSent;
    this.#runSent = run;
    return { question: isNew ? { run, ...others } : others };
  }

  async #open(): Promise<WorkerClient | undefined> {
    for (const way of this.#ways) {
      let client: WorkerClient | undefined;
      try {
        client = await WorkerClient.open(way, null, systemClock, START_TIMEOUT_MS);
        const start = { settings: this.#settings, memory: this.#memory };
        await ask(client, { start, batches: [] }, nothing().buffer);
        this.#way = way.name;
        return client;
      } catch (error) {
        client?.terminate();
        this.#failures.push(`${way.name}: ${reasonOf(error)}`);
      }
    }
    this.#way = 'none';
    return undefined;
  }

  #lost(client: WorkerClient, error: unknown): void {
    this.#failures.push(reasonOf(error));
    client.terminate();
    this.#deaths++;
    this.#runSent = undefined;
    const goesOn = !this.#isClosed && this.#deaths < MAX_DEATHS;
    this.#way = goesOn ? 'pending' : 'none';
    this.#opening = goesOn ? this.#open() : Promise.resolve(undefined);
  }
}

async function ask(
  client: WorkerClient,
  request: LiveRequest,
  buffer: ArrayBuffer,
): Promise<LiveAnswer> {
  const { outcome } = await client.run(request, buffer, CALL_TIMEOUT_MS);
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome.value as LiveAnswer; // bytes become types: the worker runs this package's evaluator
}

function nothing(): Load {
  return { batches: [], buffer: new ArrayBuffer(0) };
}

/** Without what the client says about kernels. */
function reasonOf(error: unknown): string {
  if (!isQuarkError(error, 'kernel_failed')) return messageOf(error);
  const { reason } = error.details;
  if (typeof reason === 'string') return reason;
  return messageOf(error.cause ?? error);
}
