/** How choices are written in an address. */

/** How a choice is written in an address. */
export type AddressText<T> = {
  /** Undefined for what the page begins with: the address does not name it. */
  readonly write: (value: T) => string | undefined;
  /** The choice that a text stands for, whatever the text is; undefined is what the page begins with. */
  readonly read: (text: string | undefined) => T;
};

/** A text; what the page begins with is `initial`. */
export function plainText(initial: string = ''): AddressText<string> {
  return {
    write: (value) => (value === initial ? undefined : value),
    read: (text) => text ?? initial,
  };
}

/** A boolean that begins as false. */
export const FLAG: AddressText<boolean> = {
  write: (value) => (value ? '1' : undefined),
  read: (text) => text === '1',
};

/** A number; the page begins with none. */
export const FINITE_NUMBER: AddressText<number | undefined> = {
  write: (value) => (value === undefined ? undefined : String(value)),
  read: (text) => {
    const value = Number(text);
    return text === undefined || text === '' || !Number.isFinite(value) ? undefined : value;
  },
};

/** One of these; the page begins with the first. */
export function choiceText<T extends string>(all: readonly [T, ...T[]]): AddressText<T> {
  return {
    write: (value) => (value === all[0] ? undefined : value),
    read: (text) => all.find((one) => one === text) ?? all[0],
  };
}

/** A name out of an address; one that is not escaped properly stays as it is. */
export function decodedName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
