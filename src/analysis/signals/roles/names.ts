/** Names of metrics, read beside each other: which differ only in a word for training or validation. */
import { measureOf, type Measure } from './measures.ts';
import { isNeutral, isStepWord, sideOf, wordsOf, type Side } from './words.ts';

/** A name and what it says. */
export type MetricName = {
  readonly key: string;
  /** The data it was measured on; undefined where no word says it. */
  readonly side: Side | undefined;
  /** Which of several sets of that side; empty for the only one. */
  readonly set: string;
  /** Its words without that of the side, and without the number of the set. */
  readonly words: readonly string[];
  /** The same as text: names of one stem are one metric of several sides. */
  readonly stem: string;
  /** The stem without words that say nothing, such as "total" and "epoch", and without those for single steps. */
  readonly base: string;
  readonly measure: Measure | undefined;
  /** Whether it is of single steps, by its name. */
  readonly isStep: boolean;
  /** Whether another name differs from it in the side only. */
  readonly hasPartner: boolean;
};

/** One way to read a name: one of its words is the side, or none is. */
type Reading = Pick<MetricName, 'side' | 'set' | 'words' | 'stem'>;

/** Reads names together. */
export function readNames(keys: Iterable<string>): ReadonlyMap<string, MetricName> {
  const given = [...keys];
  const common = commonFolder(given);
  const all = given.map((key) => ({ key, readings: readingsOf(wordsOf(key.slice(common))) }));
  const sides = new Map<string, Set<Side | 'unmarked'>>();
  for (const { readings } of all)
    for (const { side, stem } of readings) {
      const known = sides.get(stem) ?? new Set();
      known.add(side ?? 'unmarked');
      sides.set(stem, known);
    }
  const hasPartner = ({ side, stem }: Reading): boolean => {
    const found = sides.get(stem);
    if (found === undefined) return false;
    return side === 'val' || side === 'test'
      ? found.has('train') || found.has('unmarked')
      : found.has('val') || found.has('test');
  };
  return new Map(
    all.map(({ key, readings }): [string, MetricName] => {
      const marked = readings.filter(({ side }) => side !== undefined);
      const reading =
        marked.findLast(hasPartner) ?? marked.at(-1) ?? readings[0] ?? readingWithout([]);
      // A word for a side that is none here says nothing of what is measured.
      const measured = reading.words.filter((word) => sideOf(word) === undefined);
      const base = measured.filter((word) => !isNeutral(word) && !isStepWord(word));
      return [
        key,
        {
          ...reading,
          key,
          base: base.join(' '),
          measure: measureOf(measured),
          isStep: reading.words.some(isStepWord),
          hasPartner: hasPartner(reading),
        },
      ];
    }),
  );
}

/** Length of a folder that all names are in, such as the name of an experiment: it tells none from another. */
function commonFolder(keys: readonly string[]): number {
  const [first = '', ...others] = keys;
  const end = first.indexOf('/') + 1;
  const folder = first.slice(0, end);
  const words = wordsOf(folder);
  const saysNothing = measureOf(words) === undefined && !words.some((word) => sideOf(word));
  return others.length > 0 && saysNothing && others.every((key) => key.startsWith(folder))
    ? end
    : 0;
}

function readingsOf(words: readonly string[]): readonly Reading[] {
  const marked = words.flatMap((word, at): readonly Reading[] => {
    const side = sideOf(word);
    return side === undefined ? [] : [readingAt(words, at, side)];
  });
  // A name that has a word for validation is none of training.
  const isHeldOut = marked.some(({ side }) => side !== 'train');
  return isHeldOut ? marked : [readingWithout(words), ...marked];
}

function readingAt(words: readonly string[], at: number, side: Side): Reading {
  const isNumbered = /^\d+$/u.test(words[at + 1] ?? '');
  const rest = readingWithout(words.toSpliced(at, isNumbered ? 2 : 1));
  return { ...rest, side, set: isNumbered ? (words[at + 1] ?? '') : rest.set };
}

/** Without a side. `valid_1's l2` leaves an "s", and some loggers say the number of the set behind the metric. */
function readingWithout(words: readonly string[]): Reading {
  const set = words.find((word) => /^set\d+$/u.test(word));
  const rest = words.filter((word) => word !== 's' && word !== set);
  return { side: undefined, set: set ?? '', words: rest, stem: rest.join(' ') };
}
