/** What a session needs to know of Node: signals, exit, Git, the machine. */
import {
  arch,
  availableParallelism,
  cpus,
  hostname,
  release,
  totalmem,
  type as osType,
} from 'node:os';
import type { JsonObject } from '../../../base/json.ts';
import { outliveTerminal } from '../../../base/node/hangup.ts';
import { isProcessGone, processTag } from '../../../base/node/process-tag.ts';
import { VERSION } from '../../../base/version.ts';
import type { Leaving, Platform } from '../platform.ts';
import { mergeThreads } from '../../../segment/node/merge-thread.ts';
import { openAppendFile } from './append-file.ts';
import { programFiles } from './program-code.ts';
import { readGit } from './git.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const interruptListeners = new Set<(reason: string) => Promise<void>>();
const exitListeners = new Set<(leaving: Leaving) => void>();
let isListening = false;
let endWithTerminal: (() => void) | undefined;
let uncaught: Leaving['uncaught'];

/**
 * What a session takes from Node: facts about the machine for the run record, the commit, signals and the end of the process. Sessions
 * load it by themselves.
 *
 * @example
 * ```js
 * import { nodePlatform } from 'quark-sdk/node';
 *
 * console.log(nodePlatform.leaseTtlMs); // 30000
 * const { platform, logical_processors } = await nodePlatform.environment(); // what a run record says of its machine
 * console.log(platform, logical_processors);
 * ```
 */
export const nodePlatform: Platform = {
  leaseTtlMs: 30_000,
  holderTag: { tag: processTag, isGone: isProcessGone },
  environment,
  gitCommit: async () => (await readGit()).commit,
  onInterrupt(listener) {
    interruptListeners.add(listener);
    listen();
    return () => {
      interruptListeners.delete(listener);
      unlistenIfIdle();
    };
  },
  onExit(listener) {
    exitListeners.add(listener);
    listen();
    return () => {
      exitListeners.delete(listener);
      unlistenIfIdle();
    };
  },
  onHide: () => () => undefined,
  openAppendFile,
  mergeWindow: mergeThreads.mergeWindow,
  files: programFiles,
};

function listen(): void {
  if (isListening) return;
  isListening = true;
  endWithTerminal = outliveTerminal();
  listenToSignals();
  process.on('exit', onExit);
  process.on('uncaughtExceptionMonitor', onUncaught);
}

function listenToSignals(): void {
  for (const signal of SIGNALS)
    if (signal !== 'SIGHUP' || endWithTerminal === undefined) process.on(signal, onSignal);
}

function unlistenIfIdle(): void {
  if (interruptListeners.size > 0 || exitListeners.size > 0) return;
  isListening = false;
  for (const signal of SIGNALS) process.off(signal, onSignal);
  endWithTerminal?.();
  process.off('exit', onExit);
  process.off('uncaughtExceptionMonitor', onUncaught);
}

/**
 * Ends the sessions, then lets the signal do what it would have done without us: another listener of the program keeps
 * the process alive, none ends it. A second signal takes effect at once.
 */
function onSignal(signal: NodeJS.Signals): void {
  const listeners = [...interruptListeners];
  for (const name of SIGNALS) process.off(name, onSignal);
  void Promise.allSettled(listeners.map((listener) => listener(signal))).then(() => {
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    else if (isListening) listenToSignals();
  });
}

/** An error that ends the process, whether it was thrown or is the reason of a rejection; a listener of the program keeps it alive. */
function onUncaught(error: unknown): void {
  if (process.listenerCount('uncaughtException') === 0) uncaught = { error };
}

function onExit(code: number): void {
  const reason = `the process ended with exit code ${code} before endRun()`;
  const leaving = { reason, ...(uncaught === undefined ? {} : { uncaught }) };
  for (const listener of exitListeners) listener(leaving);
}

async function environment(): Promise<JsonObject> {
  const { branch, hasChanges } = await readGit();
  return {
    platform: 'node',
    quark_version: VERSION,
    node_version: process.versions.node,
    operating_system: `${osType()} ${release()}`,
    architecture: arch(),
    hostname: hostname(),
    process_id: process.pid,
    cpu_model: cpus()[0]?.model ?? null,
    logical_processors: availableParallelism(),
    ram_total_bytes: totalmem(),
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    git_branch: branch,
    git_has_changes: hasChanges,
  };
}
