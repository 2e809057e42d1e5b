/** The words that names of metrics are made of: which side they say, what they measure, and which say nothing. */

/** On which data a metric was measured. */
export type Side = 'train' | 'val' | 'test';

const SIDES: Readonly<Record<Side, readonly string[]>> = {
  train: ['train', 'training', 'trained', 'tr', 'trn', 'learn', 'fit', 'trainset'],
  val: [
    'val',
    'valid',
    'validation',
    'validate',
    'vl',
    'vld',
    'eval',
    'evaluation',
    'evaluate',
    'dev',
    'devel',
    'holdout',
    'heldout',
    'valset',
    'validset',
    'devset',
  ],
  test: ['test', 'testing', 'tst', 'te', 'testset', 'oos'],
};

const SIDE_OF: ReadonlyMap<string, Side> = new Map(
  (['train', 'val', 'test'] as const).flatMap((side) =>
    SIDES[side].map((word) => [word, side] as const),
  ),
);

/** The side that a word says. */
export function sideOf(word: string): Side | undefined {
  return SIDE_OF.get(word);
}

/** Words that tell one record of a loss from another of the same, and no loss from another. */
const NEUTRAL: ReadonlySet<string> = new Set(
  'total overall avg average mean epoch epochs running estimate smooth smoothed smth global metric metrics scalar scalars stats history log logs model main losses final aggregate per current samples interval reduced s'.split(
    ' ',
  ),
);

/** Words for single steps. */
const STEP: ReadonlySet<string> = new Set(['step', 'steps', 'batch', 'iter', 'iteration']);

export function isNeutral(word: string): boolean {
  return NEUTRAL.has(word);
}

export function isStepWord(word: string): boolean {
  return STEP.has(word);
}

/** Phrases of several words that stand for one. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bloss values?\b/gu, 'loss'],
  [/\bf 1\b/gu, 'f1'],
  [/\bin sample\b/gu, 'train'],
  [/\bout of sample\b/gu, 'test'],
  [/\bh[eo]ld out\b/gu, 'val'],
  [/\beval mode\b/gu, 'evalmode'],
  [/\bcross entropy\b/gu, 'crossentropy'],
  [/\b(?:neg|negative) log (?:likelihood|lik|prob)\b/gu, 'nll'],
  [/\blog (?:likelihood|lik)\b/gu, 'loglikelihood'],
  [/\broot mean squared error\b/gu, 'rmse'],
  [/\bmean squared error\b/gu, 'mse'],
  [/\bmean absolute percentage error\b/gu, 'mape'],
  [/\bmean absolute error\b/gu, 'mae'],
  [/\b(?:dataloader|dataset) (?:idx|index)? ?(\d+)\b/gu, 'set$1'],
];

/** Words that are often written as one. */
const GLUED =
  /^(train|training|tr|val|valid|validation|vl|test|te|eval|dev)(loss|acc|accuracy|error|err|ppl|mse|rmse|mae|auc|f1|reward|return)$/u;
/** A side and the number of one of several sets: `valid0`. */
const NUMBERED = /^([a-z]+)(\d+)$/u;
const CAMEL_WORDS = /^(?:loss|acc|accuracy|error|reward|rewards|return|ret|rew)$/u;

/** The words of a name in lower case: parted by anything that is no letter or digit, and by capitals where a side or a measure stands between. */
export function wordsOf(name: string): readonly string[] {
  // Training data in evaluation mode is one word: it is neither side.
  const marked = name.replace(
    /(^|[^a-z])train(?:ing)?[_-]eval(?:uation)?(?=[/_.-]|$)/iu,
    '$1traineval',
  );
  const words = marked.split(/[^A-Za-z0-9]+/u).flatMap(ofCamelCase);
  const phrase = PHRASES.reduce(
    (text, [pattern, word]) => text.replace(pattern, word),
    words.join(' '),
  );
  return phrase.split(' ').flatMap((word) => {
    const glued = GLUED.exec(word);
    if (glued?.[1] !== undefined && glued[2] !== undefined) return [glued[1], glued[2]];
    const numbered = NUMBERED.exec(word);
    return numbered?.[1] !== undefined && numbered[2] !== undefined && SIDE_OF.has(numbered[1])
      ? [numbered[1], numbered[2]]
      : word === ''
        ? []
        : [word];
  });
}

function ofCamelCase(word: string): readonly string[] {
  const parts = word
    .split(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/u)
    .map((part) => part.toLowerCase());
  return parts.some((part) => SIDE_OF.has(part) || CAMEL_WORDS.test(part))
    ? parts
    : [word.toLowerCase()];
}
