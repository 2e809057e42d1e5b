/** Names of losses and other measures in lines of text, beside their numbers. */
import { NUMBER } from './pattern-parts.ts';

/** A measure in a line: its name, and where the name and its number are. */
export type NamedNumber = {
  readonly name: string;
  readonly value: string;
  readonly nameAt: number;
  readonly valueAt: number;
};

const WORD = String.raw`(?:[A-Za-z]{1,20}[ _./-])?`;
const LOSS = String.raw`(?:[A-Za-z]{0,20}[lL]oss(?:es)?|LOSS|[nN]ll|NLL|[pP]pl|PPL|[pP]erplexity|[mM]se|MSE|[mM]ae|MAE|[rR]mse|RMSE|[eE]lbo|ELBO|bpc|bpb|[oO]bjective|[cC]ross[ _-]?[eE]ntropy)`;
const OTHER = String.raw`(?:[aA]cc(?:uracy)?(?:@\d)?|ACC|lr|LR|[lL]earning[ _]rate|[gG]rad[ _]?norm|[dD]ice|[iI]o[uU]|[fF]1|[bB]leu|BLEU|[pP]snr|PSNR|[rR]eward|[rR]eturn|[eE]rr(?:or)?)`;
const TAIL = String.raw`(?:[_./][A-Za-z]{1,20})?`;
/** Between a name and its number: signs, and a word such as "is". */
const GAP = String.raw`[^\w\n]{0,12}?(?:(?:is|was|of|at|now)\s{1,4})?`;
const VALUE_END = String.raw`(?![\w:/]|[.-]\d)`;

function named(measure: string): RegExp {
  return new RegExp(
    String.raw`(?<![A-Za-z_])(?<name>${WORD}${measure}${TAIL})(?![A-Za-z_])${GAP}(?<![\d.])(?<value>${NUMBER})(?:%|s)?${VALUE_END}`,
    'dg',
  );
}

const LOSSES = named(LOSS);
const OTHERS = named(OTHER);
/** Words in front of a loss that is none of a step: the best so far, settings, scales, means that are told again. */
const NO_STEP =
  /\b(?:averaged|best|lowest|minimum|threshold|improved?|improvement|scaler?|scaling|weights?|coef\w*|smoothing|tolerance|patience|early.?stopping)\b/i;
const HEAD_CHARS = 2000;
/** How far in front of a name a word counts. */
const NEAR_CHARS = 40;

/** The losses with numbers in a line. */
export function lossesIn(text: string): NamedNumber[] {
  return numbersOf(LOSSES, text).filter(
    ({ nameAt, valueAt }) => !NO_STEP.test(text.slice(Math.max(0, nameAt - NEAR_CHARS), valueAt)),
  );
}

/** The other measures with numbers in a line. */
export function measuresIn(text: string): NamedNumber[] {
  return numbersOf(OTHERS, text);
}

/** Whether a metric is a loss by its name. */
export function isLossName(name: string): boolean {
  return /loss|nll|ppl|perplexity|mse|mae|elbo|bpc|bpb|objective|entropy|^tr[l]$|^tel$/i.test(name);
}

function numbersOf(expression: RegExp, text: string): NamedNumber[] {
  return [...text.slice(0, HEAD_CHARS).matchAll(expression)].map((match) => ({
    name: match.groups?.['name'] ?? '',
    value: match.groups?.['value'] ?? '',
    nameAt: match.indices?.groups?.['name']?.[0] ?? 0,
    valueAt: match.indices?.groups?.['value']?.[0] ?? 0,
  }));
}
