/** Optimizers as nodes of the training graph. */
import { checkLiteral, checkOptionNames, checkFlag } from '../../../base/assert.ts';
import { invalidInput } from '../../../base/errors.ts';
import type { GraphBuilder } from './graph/graph-builder.ts';
import type { NetworkParameter } from './network.ts';

/** How parameters follow their gradients. The learning rate can be set anew at each step. */
export type OnnxOptimizer =
  | { readonly kind: 'sgd'; /** Default 0.01. */ readonly learningRate?: number }
  | {
      readonly kind: 'momentum';
      /** Default 0.01. */
      readonly learningRate?: number;
      /** Share of the velocity that is kept; default 0.9. */
      readonly momentum?: number;
      /** Looks ahead by one step of the velocity; default false. */
      readonly nesterov?: boolean;
    }
  | {
      readonly kind: 'adam';
      /** Default 0.001. */
      readonly learningRate?: number;
      /** Default 0.9. */
      readonly beta1?: number;
      /** Default 0.999. */
      readonly beta2?: number;
      /** Added to the deviation; default 1e-8. */
      readonly epsilon?: number;
    };

/** A checked optimizer. */
export type OptimizerSettings = {
  readonly kind: OnnxOptimizer['kind'];
  readonly learningRate: number;
  readonly momentum: number;
  readonly nesterov: boolean;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
};

const OPTIONS: Readonly<Record<OnnxOptimizer['kind'], readonly string[]>> = {
  sgd: [],
  momentum: ['momentum', 'nesterov'],
  adam: ['beta1', 'beta2', 'epsilon'],
};

/** @throws {QuarkError} `invalid_input` naming the field */
export function checkOptimizer(optimizer: OnnxOptimizer): OptimizerSettings {
  if (typeof optimizer !== 'object' || optimizer === null)
    throw invalidInput('config.optimizer', optimizer, 'an optimizer');
  const kind = checkLiteral('config.optimizer.kind', optimizer.kind, ['sgd', 'momentum', 'adam']);
  checkOptionNames('config.optimizer', optimizer, ['kind', 'learningRate', ...OPTIONS[kind]]);
  const settings = {
    learningRate: kind === 'adam' ? 0.001 : 0.01,
    momentum: 0.9,
    nesterov: false,
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    ...optimizer,
  };
  checkLearningRate('config.optimizer.learningRate', settings.learningRate);
  for (const name of ['momentum', 'beta1', 'beta2'] as const)
    if (!(settings[name] >= 0 && settings[name] < 1))
      throw invalidInput(`config.optimizer.${name}`, settings[name], 'from 0 to below 1');
  if (!(settings.epsilon > 0))
    throw invalidInput('config.optimizer.epsilon', settings.epsilon, 'above 0');
  checkFlag('config.optimizer.nesterov', settings.nesterov);
  return settings;
}

/** @throws {QuarkError} `invalid_input` unless it is a finite number of 0 or more */
export function checkLearningRate(field: string, value: number): number {
  if (typeof value !== 'number' || !(value >= 0 && value < Infinity))
    throw invalidInput(field, value, 'a finite number of 0 or more');
  return value;
}

/** A moment of the gradients, kept from step to step. */
export type OptimizerState = {
  readonly name: string;
  readonly shape: readonly number[];
  readonly updated: string;
};

/** Numbers the optimizer is given at each step, by the name of the graph's input. */
export type OptimizerScalars = {
  readonly learningRate: string;
  readonly corrections: readonly string[];
};

/** Names of the scalar inputs. */
const LEARNING_RATE = 'quark/learning_rate';
const CORRECTIONS = ['quark/correction_1', 'quark/correction_2'];

/** Declares what an optimizer is given at each step. */
export function declareOptimizer(g: GraphBuilder, settings: OptimizerSettings): OptimizerScalars {
  const corrections = settings.kind === 'adam' ? CORRECTIONS : [];
  for (const name of [LEARNING_RATE, ...corrections]) g.input(name, 'float32', []);
  return { learningRate: LEARNING_RATE, corrections };
}

/** The scalars' values at a step, counted from 0. Powers are taken here, in double precision. */
export function optimizerScalars(
  settings: OptimizerSettings,
  learningRate: number,
  step: number,
): Map<string, number> {
  const values = new Map([[LEARNING_RATE, learningRate]]);
  if (settings.kind !== 'adam') return values;
  for (const [i, beta] of [settings.beta1, settings.beta2].entries())
    values.set(CORRECTIONS[i] ?? '', 1 / (1 - beta ** (step + 1)));
  return values;
}

/** Emits the step of one parameter; gives its new value and what the optimizer keeps. */
export function emitUpdate(
  g: GraphBuilder,
  settings: OptimizerSettings,
  parameter: NetworkParameter,
  gradient: string,
  scalars: OptimizerScalars,
): { readonly updated: string; readonly state: readonly OptimizerState[] } {
  const { name, shape } = parameter;
  const moment = (kind: string): string => g.input(`${name}/${kind}`, 'float32', shape);
  const by = (direction: string): string => g.sub(name, g.mul(scalars.learningRate, direction));
  switch (settings.kind) {
    case 'sgd':
      return { updated: by(gradient), state: [] };
    case 'momentum': {
      // Sutskever, Martens, Dahl and Hinton, 2013, with the learning rate outside of the velocity.
      const velocity = moment('velocity');
      const updated = g.add(g.scale(velocity, settings.momentum), gradient);
      const direction = settings.nesterov
        ? g.add(gradient, g.scale(updated, settings.momentum))
        : updated;
      return { updated: by(direction), state: [{ name: velocity, shape, updated }] };
    }
    case 'adam': {
      // Kingma and Ba, Adam, 2015, algorithm 1.
      const { beta1, beta2, epsilon } = settings;
      const [first, second] = [moment('moment_1'), moment('moment_2')];
      const mean = g.add(g.scale(first, beta1), g.scale(gradient, 1 - beta1));
      const square = g.add(g.scale(second, beta2), g.scale(g.mul(gradient, gradient), 1 - beta2));
      const [correction1 = '', correction2 = ''] = scalars.corrections;
      const deviation = g.add(g.unary('Sqrt', g.mul(square, correction2)), g.scalar(epsilon));
      return {
        updated: by(g.div(g.mul(mean, correction1), deviation)),
        state: [
          { name: first, shape, updated: mean },
          { name: second, shape, updated: square },
        ],
      };
    }
  }
}
