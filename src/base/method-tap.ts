/** A method of one object replaced for a while. */
type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;
type Make = (original: AnyFunction) => AnyFunction;

/** The replacement of a method, for all of its taps. */
type Tap = {
  readonly method: AnyFunction;
  readonly makes: Make[];
  compose(): void;
  restore(): void;
};

/** The current taps. All taps of a method share one function: they may be undone in any order, and the last one restores the method. */
const taps = new WeakMap<object, Map<string, Tap>>();

/**
 * Replaces `object[name]` by what `make` makes of it. The undo leaves no trace; where other code has wrapped the
 * method since, the replacement stays and passes every call on.
 */
export function tapMethod(object: object, name: string, make: Make): () => void {
  const tap = tapOf(object, name);
  tap.makes.push(make);
  tap.compose();
  return () => {
    const at = tap.makes.indexOf(make);
    if (at < 0) return;
    tap.makes.splice(at, 1);
    tap.compose();
    if (tap.makes.length === 0) tap.restore();
  };
}

function tapOf(object: object, name: string): Tap {
  const ofObject = taps.get(object) ?? new Map<string, Tap>();
  taps.set(object, ofObject);
  const there = ofObject.get(name);
  const original = Reflect.get(object, name) as AnyFunction;
  if (there !== undefined && there.method === original) return there;
  const own = Object.getOwnPropertyDescriptor(object, name);
  let composed = original;
  const tap: Tap = {
    method: function (this: unknown, ...args) {
      return composed.apply(this, args);
    },
    makes: [],
    compose() {
      composed = tap.makes.reduce((inner, make) => make(inner), original);
    },
    restore() {
      if (ofObject.get(name) === tap) ofObject.delete(name);
      if (Reflect.get(object, name) !== tap.method) return;
      if (own === undefined) Reflect.deleteProperty(object, name);
      else Object.defineProperty(object, name, own);
    },
  };
  Object.defineProperty(object, name, {
    value: tap.method,
    configurable: true,
    writable: true,
    enumerable: own?.enumerable ?? false,
  });
  ofObject.set(name, tap);
  return tap;
}
