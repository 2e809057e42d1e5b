/** Stores that fail, die and answer late, for tests of those who have to live with that. */
import { SessionStoreError, type StoreFailureReason } from '../../src/base/errors.ts';
import type { Store } from '../../src/store/store.ts';

/** What happens to one call: nothing, an error before or after it was carried out, or its being carried out later. */
export type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'before' | 'after' | 'late'; readonly reason: StoreFailureReason };

/** `fault` is asked before every call. */
export function faultyStore(
  store: Store,
  fault: (call: string, args: readonly unknown[]) => Fault,
): Store {
  return intercept(store, async (call, args, work) => {
    const chosen = fault(call, args);
    switch (chosen.kind) {
      case 'none':
        return work();
      case 'before':
        throw failure(chosen.reason);
      case 'after':
        await work();
        throw failure(chosen.reason);
      case 'late':
        setTimeout(() => void work().catch(() => undefined), 5);
        throw failure(chosen.reason);
    }
  });
}

/** The same store without appends that return at once: every append is a call that can fail or wait. */
export function withoutAppendsNow(store: Store): Store {
  return new Proxy(store, {
    get: (target, name): unknown => {
      if (name === 'appendSegmentsNow' || name === 'updateRunNow' || name === 'putBlobNow')
        return undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A store of a process: after `kill`, no call of it is carried out or answered any more. */
export function mortalStore(store: Store): { readonly store: Store; kill(): void } {
  let isDead = false;
  const never = new Promise<never>(() => undefined);
  return {
    store: intercept(store, async (_call, _args, work) => {
      if (isDead) return never;
      const result = await work();
      return isDead ? never : result;
    }),
    kill() {
      isDead = true;
    },
  };
}

function failure(reason: StoreFailureReason): SessionStoreError {
  return new SessionStoreError(reason, `The test lets this call fail: ${reason}.`, {
    details: reason === 'busy' ? { retryAfterMs: 20 } : {},
  });
}

type Intercept = (
  call: string,
  args: readonly unknown[],
  work: () => Promise<unknown>,
) => Promise<unknown>;

/** The store with every asynchronous call, those of its notes too, going through `around`. */
export function intercept<T extends object>(target: T, around: Intercept): T {
  return new Proxy(target, {
    get(_target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (property === 'notes' && typeof value === 'object' && value !== null)
        return intercept(value, around);
      if (typeof value !== 'function') return value;
      if (property === 'close' || String(property).endsWith('Now')) return value.bind(target);
      return (...args: unknown[]) =>
        around(
          String(property),
          args,
          () => Reflect.apply(value, target, args) as Promise<unknown>,
        );
    },
  });
}
