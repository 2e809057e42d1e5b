/** The texts of the page in the language of its reader. English stands where it is used; other languages are catalogues. */

/** Translations by their English texts. A text that counts has its two English forms as its key, joined by `|`, and so is its value. */
export type Catalogue = Readonly<Record<string, string>>;

/** Values of the `{names}` in a text. */
export type TextValues = Readonly<Record<string, string | number>>;

let catalogue: Catalogue = {};

/** Has every later text come from this catalogue; what it lacks stays English. */
export function setCatalogue(translations: Catalogue): void {
  catalogue = translations;
}

/**
 * A text of the page.
 *
 * @param text the English text as a literal, with `{name}` where a value goes; it is the key of the catalogues
 * @example t('Last loss {value} at step {step}', { value: '0.31', step: 400 });
 */
export function t(text: string, values?: TextValues): string {
  const found = catalogue[text] ?? text;
  return values === undefined ? found : filled(found, values);
}

/**
 * A text with a count, in the singular or the plural; `{count}` is the count.
 *
 * @example tn(3, '{count} run', '{count} runs'); // 3 runs
 */
export function tn(count: number, one: string, many: string, values?: TextValues): string {
  const [foundOne = one, foundMany = many] = (catalogue[`${one}|${many}`] ?? '|').split('|');
  const form = count === 1 ? foundOne || one : foundMany || many;
  return filled(form, { count, ...values });
}

function filled(text: string, values: TextValues): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
