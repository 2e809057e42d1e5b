/** What components share that wait for something: polls, promises, and the screen. */
import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { keepPolling } from './polling.ts';
import { adding } from './signals.ts';

/** How a poll that is repeated goes. */
export type Polling = {
  /** Why the last round failed; undefined after one that did not. */
  readonly error: Signal<unknown>;
  /** Whether a round came to its end. */
  readonly isRead: ReadonlySignal<boolean>;
  /** Polls at once. */
  readonly retry: () => void;
};

/** Calls `round` now and `pauseMs()` after each end of it, and anew when one of `inputs` changes. See {@link keepPolling}. */
export function usePolling(
  round: () => Promise<void>,
  pauseMs: () => number,
  inputs: readonly unknown[],
): Polling {
  const error = useSignal<unknown>(undefined);
  const isRead = useSignal(false);
  const attempt = useSignal(0);
  useEffect(
    () =>
      keepPolling(
        async () => {
          await round();
          isRead.value = true;
          error.value = undefined;
        },
        pauseMs,
        (failure) => {
          error.value = failure;
        },
      ),
    [...inputs, attempt.value],
  );
  return {
    error,
    isRead,
    retry: () => {
      error.value = undefined;
      attempt.value += 1;
    },
  };
}

/** What `ask` answered last, asked again `pauseMs` after each answer. Undefined before the first answer and after a failure. */
export function useLatest<T>(
  ask: () => Promise<T>,
  pauseMs: number,
  inputs: readonly unknown[],
): T | undefined {
  const answer = useSignal<T | undefined>(undefined);
  useEffect(
    () =>
      keepPolling(
        async () => {
          answer.value = await ask();
        },
        () => pauseMs,
        () => {
          answer.value = undefined;
        },
      ),
    inputs,
  );
  return answer.value;
}

/** How a promise stands. */
export type Settled<T> = {
  /** The last value that came, with the inputs that it came for. */
  readonly found: { readonly value: T; readonly input: unknown } | undefined;
  readonly error: unknown;
  readonly retry: () => void;
};

/** Waits for `make(input)`, and anew when the input changes; for nothing while it is undefined. */
export function usePromise<I, T>(input: I | undefined, make: (input: I) => Promise<T>): Settled<T> {
  const found = useSignal<Settled<T>['found']>(undefined);
  const error = useSignal<unknown>(undefined);
  const attempt = useSignal(0);
  useEffect(() => {
    if (input === undefined) return undefined;
    let isCurrent = true;
    error.value = undefined;
    make(input).then(
      (value) => {
        if (isCurrent) found.value = { value, input };
      },
      (failure: unknown) => {
        if (isCurrent) error.value = failure;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [input, attempt.value]);
  return { found: found.value, error: error.value, retry: adding(attempt, 1) };
}

/** Tells when an element comes on screen, or within `margin` of it, and when it leaves. */
export function useOnScreen(
  element: RefObject<Element | null>,
  onChange: (isOnScreen: boolean) => void,
  margin: string = '0px',
): void {
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => onChange(entries.at(-1)?.isIntersecting ?? false),
      { rootMargin: margin },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
}
