/** Handlers that change a signal. */
import type { Signal } from '@preact/signals';

/** A handler that stores what it is called with: `onChange={setterOf(axis)}`. */
export function setterOf<T>(target: Signal<T>): (value: T) => void {
  return (value) => {
    target.value = value;
  };
}

/** A handler that stores this value: `onClick={setting(zoom, undefined)}`. */
export function setting<T>(target: Signal<T>, value: NoInfer<T>): () => void {
  return () => {
    target.value = value;
  };
}

/** A handler that turns a boolean over. */
export function toggling(target: Signal<boolean>): () => void {
  return () => {
    target.value = !target.value;
  };
}

/** A handler that adds to a number. */
export function adding(target: Signal<number>, count: number): () => void {
  return () => {
    target.value += count;
  };
}

/** The set with the item if it was without, and without it if it was in. */
export function toggled<T>(set: ReadonlySet<T>, item: NoInfer<T>): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(item)) next.add(item);
  return next;
}
