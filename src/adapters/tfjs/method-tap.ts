/** A method of one object replaced for a while. */
type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Replaces `object[name]` by what `make` makes of it. The undo leaves no trace; where somebody else has wrapped the
 * method since, it stays in place and passes every call on.
 */
export function tapMethod(
  object: object,
  name: string,
  make: (original: AnyFunction) => AnyFunction,
): () => void {
  const original = Reflect.get(object, name) as AnyFunction;
  const own = Object.getOwnPropertyDescriptor(object, name);
  const wrapped = make(original);
  let isUndone = false;
  const tap: AnyFunction = function (...args) {
    return isUndone ? original.apply(this, args) : wrapped.apply(this, args);
  };
  Object.defineProperty(object, name, {
    value: tap,
    configurable: true,
    writable: true,
    enumerable: own?.enumerable ?? false,
  });
  return () => {
    isUndone = true;
    if (Reflect.get(object, name) !== tap) return;
    if (own === undefined) Reflect.deleteProperty(object, name);
    else Object.defineProperty(object, name, own);
  };
}
