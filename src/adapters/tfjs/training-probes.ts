/** The probes that go along with a `fit`. */
import { invalidInput } from '../../base/errors.ts';
import { HookEngine } from '../../probes/hook-engine.ts';
import type { HookEngineConfig } from '../../probes/hook-config.ts';
import type { ParameterDiagnosticsConfig } from '../../probes/parameter-config.ts';
import { ParameterDiagnostics } from '../../probes/parameter-diagnostics.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { tfjsModel, type TfjsSource } from './tfjs-model.ts';
import type { TfjsLayersModel, TfjsRuntime } from './tfjs-types.ts';

/** Which probes go along with a training. */
export type TrainingProbesOptions = {
  /**
   * Records activations and gradients of layers: true, false, or the settings of the hook engine. True, the default: from
   * every 10th step on, as often as 1.5 % of the training time allow.
   */
  readonly hooks?: boolean | HookEngineConfig;
  /** Records parameters, their gradients and updates: true, the default, false, or the settings. As often as hooks. */
  readonly parameters?: boolean | ParameterDiagnosticsConfig;
  /** The model as probes see it, where it has taps; default `tfjsModel(tf, model)`. */
  readonly source?: TfjsSource;
};

/** The settings that `true` stands for. Both together keep to 3 %. */
const DEFAULTS = Object.freeze({ schedule: { everyNSteps: 10 }, overheadBudget: 0.015 });

export class TrainingProbes {
  readonly #source: TfjsSource;
  readonly #hooks: HookEngine | undefined;
  readonly #parameters: ParameterDiagnostics | undefined;

  /** @throws {QuarkError} `invalid_input`; where errors are raised, `probe_failed` */
  constructor(
    session: TrainingSession,
    tf: TfjsRuntime,
    model: TfjsLayersModel,
    options: TrainingProbesOptions,
  ) {
    const { hooks = true, parameters = true } = options;
    this.#source = options.source ?? tfjsModel(tf, model);
    if (hooks !== false)
      this.#hooks = new HookEngine(session, this.#source, hooks === true ? DEFAULTS : hooks);
    if (parameters !== false)
      this.#parameters = new ParameterDiagnostics(
        session,
        this.#source,
        parameters === true ? DEFAULTS : parameters,
      );
  }

  begin(step: number, epoch: number): void {
    this.#hooks?.beginStep(step, { epoch });
  }

  end(step: number, epoch: number): void {
    this.#hooks?.endStep();
    this.#parameters?.snapshot(step, { epoch });
  }

  async close(): Promise<void> {
    await this.#hooks?.close();
    await this.#parameters?.close();
  }
}

/** @throws {QuarkError} `invalid_input` naming the option */
export function checkTrainingProbes(options: TrainingProbesOptions): void {
  for (const name of ['hooks', 'parameters'] as const) {
    const given = options[name];
    if (given === undefined || typeof given === 'boolean') continue;
    if (typeof given !== 'object' || given === null)
      throw invalidInput(`options.${name}`, given, 'true, false or its settings');
  }
  const { source } = options;
  if (source !== undefined && typeof source?.watchLayers !== 'function')
    throw invalidInput('options.source', source, 'what tfjsModel() gave');
}
