/**
 * What optimizer steps do to parameters, on its way to the watches. `fit`, `minimize` and hand-written loops all end
 * in `applyGradients`; the values before it are referenced, which copies nothing.
 */
import { messageOf } from '../../base/errors.ts';
import type { ParameterWatch, RetainedTensor } from '../../instruments/probes/model-source.ts';
import { tapMethod } from '../../base/method-tap.ts';
import type { FoundParameter } from './tfjs-layers.ts';
import { TfTensorRef } from './tfjs-tensor.ts';
import type { TfjsRuntime, TfTensor } from './tfjs-types.ts';

type NamedGradient = { readonly name: string; readonly tensor: TfTensor | null | undefined };

export class OptimizerWatches {
  readonly #tf: TfjsRuntime;
  readonly #parameters: readonly FoundParameter[];
  readonly #positions: ReadonlyMap<string, number>;
  readonly #watches = new Set<ParameterWatch>();
  #tapped: object | undefined;
  #untap: () => void = () => undefined;

  constructor(tf: TfjsRuntime, parameters: readonly FoundParameter[]) {
    this.#tf = tf;
    this.#parameters = parameters;
    this.#positions = new Map(parameters.map(({ variableName }, i) => [variableName, i]));
  }

  /** The optimizer that is observed. */
  get tapped(): object | undefined {
    return this.#tapped;
  }

  get isEmpty(): boolean {
    return this.#watches.size === 0;
  }

  add(watch: ParameterWatch): void {
    this.#watches.add(watch);
  }

  remove(watch: ParameterWatch): void {
    this.#watches.delete(watch);
  }

  /** Drops what was captured so far: the next step is of another position. */
  forget(): void {
    for (const watch of this.#watches) watch.forget();
  }

  /** Observes this optimizer, and no longer the one before. */
  tap(optimizer: object | undefined): void {
    if (optimizer === this.#tapped) return;
    this.#untap();
    this.#tapped = optimizer;
    this.#untap =
      optimizer === undefined
        ? () => undefined
        : tapMethod(optimizer, 'applyGradients', (original) => {
            const observe = (gradients: unknown, apply: () => unknown): unknown =>
              this.#observe(gradients, apply);
            return function (this: unknown, ...args) {
              return observe(args[0], () => original.apply(this, args));
            };
          });
  }

  #observe(gradients: unknown, apply: () => unknown): unknown {
    const active = [...this.#watches].filter((watch) => watch.isActive);
    if (active.length === 0) return apply();
    const kept: { position: number; gradient: TfTensor | null; before: RetainedTensor }[] = [];
    try {
      for (const { name, tensor } of listOf(gradients)) {
        const position = this.#positions.get(name);
        const parameter = position === undefined ? undefined : this.#parameters[position];
        if (position === undefined || parameter === undefined) continue;
        if (!active.some((watch) => watch.parameters.has(position))) continue;
        const before = new TfTensorRef(this.#tf, parameter.read()).retain();
        kept.push({ position, gradient: tensor ?? null, before });
      }
    } catch (error) {
      warnAll(active, error);
    }
    try {
      const result = apply();
      for (const { position, gradient, before } of kept) {
        const change = {
          gradient: gradient === null ? null : new TfTensorRef(this.#tf, gradient),
          before,
        };
        for (const watch of active) {
          if (watch.parameters.has(position)) watch.changed(position, change);
        }
      }
      return result;
    } finally {
      for (const { before } of kept) before.release();
    }
  }
}

function warnAll(watches: readonly ParameterWatch[], error: unknown): void {
  const message = `Values before an optimizer step could not be kept: ${messageOf(error)}`;
  for (const watch of watches) watch.warn({ reason: 'capture_failed', message });
}

/** `applyGradients` takes a list of named tensors, or tensors by name. */
function listOf(gradients: unknown): readonly NamedGradient[] {
  if (Array.isArray(gradients)) return gradients as NamedGradient[];
  if (typeof gradients !== 'object' || gradients === null) return [];
  return Object.entries(gradients as Record<string, TfTensor | null>).map(([name, tensor]) => ({
    name,
    tensor,
  }));
}
