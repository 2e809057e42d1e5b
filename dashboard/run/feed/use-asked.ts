/** What a worker is asked about a run, and asked again while the run goes on. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isGrowing } from '../../dropped/dropped-files.ts';
import type { RunFeed } from '../../series/run-feed.ts';

/** How often a run that goes on is asked about again, in milliseconds. */
const AGAIN_MS = 15_000;

/** How a question stands. */
export type Answering<T> = {
  /** The last answer; undefined before the first one. */
  readonly answer: ReadonlySignal<T | undefined>;
  /** Why the last asking failed; undefined after an answer. */
  readonly error: ReadonlySignal<unknown>;
  readonly retry: () => void;
};

/** Changes when it is time to ask again: now and then while a run goes on, and once more when it has ended. */
export function askingStamp(feed: RunFeed, nowMs: number): string {
  const isGoing = feed.isLive || isGrowing(feed.reader.store);
  return `${feed.run.updatedAt} ${isGoing ? Math.floor(nowMs / AGAIN_MS) : 'ended'}`;
}

/**
 * Asks now, and again with each `stamp`. One question waits for the answer of the one before; of those that wait, the last is
 * asked. Answers about another `subject` are dropped.
 */
export function useAsked<T>(ask: () => Promise<T>, subject: object, stamp: string): Answering<T> {
  const answer = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const attempt = useSignal(0);
  const asked = useRef(0);
  const about = useRef(subject);
  const last = useRef<Promise<void>>(Promise.resolve());
  useEffect(() => {
    if (about.current !== subject) answer.value = undefined;
    about.current = subject;
    const number = ++asked.current;
    const isCurrent = (): boolean => about.current === subject;
    last.current = last.current.then(async () => {
      if (number !== asked.current) return;
      try {
        const found = await ask();
        if (!isCurrent()) return;
        answer.value = found;
        error.value = undefined;
      } catch (failure) {
        if (isCurrent()) error.value = failure;
      }
    });
  }, [subject, stamp, attempt.value]);
  // Nobody waits for what has not been asked yet.
  useEffect(
    () => () => {
      asked.current = Number.NaN;
    },
    [],
  );
  return {
    answer,
    error,
    retry: () => {
      error.value = undefined;
      attempt.value += 1;
    },
  };
}
