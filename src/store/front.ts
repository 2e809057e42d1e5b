/**
 * The front of a store, and wrappers around stores.
 *
 * A backend is a {@link StoreDriver}: it does what it is asked to. The front before it checks each call once: that the store is open,
 * that it can be written to, and the arguments, as `STORE_CALLS` says. So a segment is checked once in the process that
 * records it, by the front of its store, and once where it comes from outside: by a service in `routes/segment-routes.ts`, by the
 * import of a `.quark` file and by a migration. A caller that has checked, or that forwards what a store has already, asks the
 * {@link trustedStore} instead of the front.
 */
import { NOTE_CALLS, STORE_CALLS, type CallRules, type Store, type StoreNotes } from './store.ts';

/** What a backend implements. Its methods may rely on the checks of the front. */
export interface StoreDriver extends Store {
  /** @throws {SessionStoreError} `closed` */
  checkOpen(): void;
  /**
   * @param removes whether the call deletes, archives or restores runs, which has a scope of its own
   * @throws {SessionStoreError} when nothing can be written; unless given, the backend finds out as it writes
   */
  checkWritable?(removes?: boolean): void;
}

/** Carries a call out, refuses it, or does something before and after it. */
export type Around = (name: string, args: readonly unknown[], call: () => unknown) => unknown;

type Kind = Pick<CallRules<Store>['findRun'], 'writes' | 'removes'>;

/** Fronts and their wrappers, and the same without the check of arguments. */
const trustedStores = new WeakMap<Store, Store>();

/** The store of a backend. */
export function storeOf(driver: StoreDriver): Store {
  const isReady = ({ writes, removes }: Kind): void => {
    driver.checkOpen();
    if (writes) driver.checkWritable?.(removes === true);
  };
  const make = (checksArguments: boolean): Store => {
    const { notes } = driver;
    const around = aroundCalls(STORE_CALLS, isReady, checksArguments);
    if (notes === undefined) return wrap(driver, around, {});
    return wrap(driver, around, {
      notes: wrap(notes, aroundCalls(NOTE_CALLS, isReady, checksArguments), {}),
    });
  };
  const front = make(true);
  trustedStores.set(front, make(false));
  return front;
}

/** Whether a call of a store answers before it returns; all others give a promise. */
export function answersAtOnce(name: string): boolean {
  return name === 'appendSegmentsNow' || name === 'updateRunNow' || name === 'putBlobNow';
}

/** The same store for callers whose arguments have been checked. Of a store without a front, that store. */
export function trustedStore(store: Store): Store {
  return trustedStores.get(store) ?? store;
}

/**
 * The same store, every call of which goes through `around`, but for the members that `own` replaces.
 *
 *     const counted = wrapStore(store, (_name, _args, call) => (calls++, call()));
 */
export function wrapStore(store: Store, around: Around, own: Partial<Store> = {}): Store {
  const wrapped = wrap(store, around, own);
  const trusted = trustedStores.get(store);
  if (trusted !== undefined) trustedStores.set(wrapped, wrap(trusted, around, own));
  return wrapped;
}

function wrap<T extends object>(target: T, around: Around, own: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown =>
        around(String(name), args, () => Reflect.apply(value, target, args));
    },
  });
}

function aroundCalls<T extends Store | StoreNotes>(
  rules: CallRules<T>,
  isReady: (kind: Kind) => void,
  checksArguments: boolean,
): Around {
  const known = new Map(Object.entries<Kind & { check: (...args: never[]) => unknown }>(rules));
  return (name, args, call) => {
    const rule = known.get(name);
    if (rule === undefined) return call();
    try {
      isReady(rule);
      const checked: unknown = checksArguments
        ? Reflect.apply(rule.check, undefined, args)
        : undefined;
      return checked instanceof Promise ? checked.then(call) : call();
    } catch (error) {
      if (answersAtOnce(name)) throw error;
      return Promise.reject(error);
    }
  };
}
