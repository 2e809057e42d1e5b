/** How a demo training says how far it is: a bar for a terminal, lines for a log, JSON for a program. */
import type { AlertRecord, PhaseRecord } from '../../index.ts';
import type { CliOutput } from './io.ts';
import { duration, fit, type Style } from './text.ts';

/** Where a training is. */
export type TrainingPosition = {
  /** Steps done, and steps in all. */
  readonly step: number;
  readonly steps: number;
  /** The epoch under way, from 1. */
  readonly epoch: number;
  readonly epochs: number;
  readonly loss: number;
  /** Of the epoch before; NaN during the first one. */
  readonly valAccuracy: number;
  readonly elapsedMs: number;
  readonly isEpochEnd: boolean;
};

/** Told what happens. */
export type ProgressLine = {
  readonly serving: (facts: {
    readonly url: string;
    readonly runId: string;
    readonly storageDir: string;
  }) => Promise<void>;
  readonly step: (at: TrainingPosition) => Promise<void>;
  readonly ended: (facts: {
    readonly status: string;
    readonly last: TrainingPosition;
    readonly tookMs: number;
    readonly meaning: RunMeaning;
  }) => Promise<void>;
};

/** What the analysis of the run found. */
export type RunMeaning = {
  readonly alerts: readonly AlertRecord[];
  readonly phases: readonly PhaseRecord[];
};

const BAR_CHARACTERS = 24;
/** A terminal is rewritten at most this often. */
const REDRAW_MS = 80;
const CLEAR_LINE = '\r\u001b[2K';

/** One line that is rewritten. */
export function terminalProgress(output: CliOutput, style: Style): ProgressLine {
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    serving: (facts) => output.write(intro(facts)),
    async step(at) {
      if (at.elapsedMs - drawnMs < REDRAW_MS && at.step < at.steps) return;
      drawnMs = at.elapsedMs;
      await output.write(CLEAR_LINE + bar(at, output.columns ?? 80, style));
    },
    ended: (facts) => output.write(`${CLEAR_LINE}${outro(facts)}`),
  };
}

/** One line an epoch. */
export function lineProgress(output: CliOutput): ProgressLine {
  return {
    serving: (facts) => output.write(intro(facts)),
    async step(at) {
      if (!at.isEpochEnd) return;
      const { epoch, epochs, loss, valAccuracy } = at;
      await output.write(
        `Epoch ${epoch}/${epochs}: loss ${loss.toFixed(4)}, validation accuracy ${valAccuracy.toFixed(4)}, ETA ${duration(remainingMs(at))}\n`,
      );
    },
    ended: (facts) => output.write(outro(facts)),
  };
}

/** One object a line. */
export function jsonProgress(output: CliOutput): ProgressLine {
  const write = (value: object): Promise<void> => output.write(`${JSON.stringify(value)}\n`);
  return {
    serving: ({ url, runId, storageDir }) =>
      write({ event: 'serving', url, run_id: runId, storage_dir: storageDir }),
    async step(at) {
      if (at.isEpochEnd) await write({ event: 'epoch', ...position(at) });
    },
    ended: ({ status, last, tookMs, meaning: { alerts, phases } }) =>
      write({
        event: 'ended',
        status,
        took_ms: Math.round(tookMs),
        ...position(last),
        alerts: alerts.map(({ ruleId, severity }) => ({ rule_id: ruleId, severity })),
        phases: phases.map(({ phaseName, stepStart, stepEnd }) => ({
          phase_name: phaseName,
          step_start: stepStart,
          step_end: stepEnd,
        })),
      }),
  };
}

function position(at: TrainingPosition): object {
  return {
    step: at.step,
    steps: at.steps,
    epoch: at.epoch,
    epochs: at.epochs,
    loss: at.loss,
    val_accuracy: at.valAccuracy,
    eta_ms: Math.round(remainingMs(at)),
  };
}

/** How long the rest takes if it goes on as it went. */
export function remainingMs({ step, steps, elapsedMs }: TrainingPosition): number {
  return step === 0 ? 0 : (elapsedMs / step) * (steps - step);
}

function bar(at: TrainingPosition, width: number, style: Style): string {
  const done = at.steps === 0 ? 1 : at.step / at.steps;
  const valAccuracy = Number.isNaN(at.valAccuracy)
    ? ''
    : `  val accuracy ${at.valAccuracy.toFixed(3)}`;
  const barWidth = Math.max(0, Math.min(BAR_CHARACTERS, width - 40));
  const filled = Math.round(done * barWidth);
  const before = `Epoch ${at.epoch}/${at.epochs}  `;
  const after = `  ${Math.round(done * 100)}%  loss ${at.loss.toFixed(4)}${valAccuracy}  ETA ${duration(remainingMs(at))}`;
  // One character less than the terminal is wide: some wrap when the last column is written.
  const cutAfter = fit(after, width - 1 - before.length - barWidth);
  return `${before}${style.green('━'.repeat(filled))}${style.dim('─'.repeat(barWidth - filled))}${cutAfter}`;
}

function intro({
  url,
  runId,
  storageDir,
}: {
  readonly url: string;
  readonly runId: string;
  readonly storageDir: string;
}): string {
  return `Dashboard: ${url}\nRun ${runId}, recorded in ${storageDir}\n`;
}

function outro({ status, last, tookMs, meaning }: Parameters<ProgressLine['ended']>[0]): string {
  const accuracy = Number.isNaN(last.valAccuracy)
    ? ''
    : `, validation accuracy ${last.valAccuracy.toFixed(4)}`;
  return `Training ${status} after ${last.step} of ${last.steps} steps in ${duration(tookMs)}${accuracy}.\n${meaningText(meaning)}`;
}

function meaningText({ alerts, phases }: RunMeaning): string {
  const named = phases.map(
    ({ displayName, stepStart, stepEnd }) =>
      `${displayName.toLowerCase()} (steps ${stepStart} to ${stepEnd})`,
  );
  const lines = alerts.map(({ severity, title }) => `  ${severity}: ${title}\n`);
  return [
    named.length === 0 ? '' : `Phases: ${named.join(', ')}.\n`,
    alerts.length === 0 ? 'The analysis has nothing to warn of.\n' : 'Alerts:\n',
    ...lines,
  ].join('');
}
