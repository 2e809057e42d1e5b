/**
 * Lines that are printed without signs between names and numbers: `step 0: loss 9.95, lr 0.001`, `[1,  2000] loss: 2.2`. Such a line is read only
 * where all of it is understood: counters, names of measures with their numbers, times and units. One word more, and it is a sentence.
 */
import { NUMBER } from './pattern-parts.ts';

/** A line that was understood as a whole. */
export type PlainLine = {
  readonly step: number;
  readonly epoch: number;
  /** Steps of an epoch, 0 where the step is one of an epoch and nobody says of how many; NaN where it may be one of the run. */
  readonly epochSteps: number;
  readonly pairs: readonly (readonly [name: string, value: string])[];
};

const COUNT = String.raw`\d{1,16}(?![\w.])`;
const OF = String.raw`(?:\s{0,4}(?:/|of)\s{0,4}(?<of>${COUNT}))?`;
const GAP = String.raw`\s{0,8}[:=#]?\s{0,8}`;
const SIDE = String.raw`(?:train(?:ing)?|tr|val(?:id(?:ation)?)?|vl|test(?:ing)?|eval(?:uation)?|dev|avg|ave|average|mean|total|running|smooth(?:ed)?|batch|mini-?batch|epoch|cur(?:rent)?|gen(?:erator)?|disc(?:riminator)?|[dg]|policy|value|critic|actor|q|kl|recon(?:struction)?|ce|nll|bce|mlm|lm|reg|aux)`;
const MEASURE = String.raw`(?:loss(?:es)?(?:_?[a-z\d]{1,12})?|nll|ppl|perplexity|mse|mae|rmse|elbo|bpc|bpb|acc(?:uracy)?(?:@\d)?|top-?[15]|lr|learning[ _]rate|grad(?:ient)?[ _]?norm|gnorm|dice|iou|miou|f1|auc|bleu|psnr|ssim|reward|return|err(?:or)?|precision|recall|kl|entropy)`;
/** A name that no sentence has: with a sign within it, as in `train_loss`, `loss/val`, `acc@1`. */
const MARKED = String.raw`[a-z][a-z\d]{0,30}(?:[_/@][a-z\d]{1,30}){1,4}`;
const TIMES = String.raw`(?:time|elapsed|eta|speed|dt|mem(?:ory)?|throughput|took|took time)`;
const UNIT = String.raw`(?:%|(?:ms|s|secs?|seconds?|mins?|minutes?|h|hours?|it|its|iters?|tok(?:en)?s?|samples?|examples?|ims?|imgs?|images?|steps?|batch(?:es)?|[kmg]i?b)(?:/(?:s|secs?|seconds?|steps?|its?|iters?|epoch|batch|sample|img|image))?)(?![\w])`;
const CLOCK = String.raw`\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?![\w])|\d{1,3}h\s?\d{1,2}m(?:\s?\d{1,2}s)?(?!\w)|\d{1,3}m\s?\d{1,2}(?:\.\d{1,3})?s(?!\w)`;

const flags = 'yi';
const TOKENS = {
  date: new RegExp(
    String.raw`[[(]?\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?[\])]?|[[(]?(?:INFO|DEBUG|root|__main__)[\])]?(?![\w])`,
    'y',
  ),
  epoch: new RegExp(
    String.raw`ep(?:och)?s?${GAP}[[(]?\s{0,4}(?<at>${COUNT})${OF}\s{0,4}[\])]?`,
    flags,
  ),
  step: new RegExp(
    String.raw`(?:global[_ ]?step|step|iteration|iters?|it|update|episode)${GAP}[[(]?\s{0,4}(?<at>${COUNT})${OF}\s{0,4}[\])]?`,
    flags,
  ),
  batch: new RegExp(
    String.raw`(?:mini-?)?batch${GAP}[[(]?\s{0,4}(?<at>${COUNT})${OF}\s{0,4}[\])]?`,
    flags,
  ),
  pair: new RegExp(
    String.raw`(?<name>(?:${SIDE}[ ._/-]){0,2}${MEASURE}(?:[ ._/]${SIDE})?|${MARKED}|(?:(?:${SIDE}|step|iter) )?${TIMES})(?![\w@/])${GAP}(?<value>${NUMBER})(?:\s?${UNIT})?(?:\s{0,2}\(\s{0,2}${NUMBER}\s{0,2}\))?(?![\w.:/]|-\d)`,
    flags,
  ),
  /** `[1,  2000]`: an epoch, and a batch of it. */
  both: /\[\s{0,8}(?<epoch>\d{1,16})\s{0,4},\s{0,8}(?<at>\d{1,16})\s{0,4}\]/y,
  /** `[0/25][50/782]`: the same, each of how many. */
  fractions:
    /\[\s{0,8}(?<epoch>\d{1,16})\s{0,4}\/\s{0,4}\d{1,16}\s{0,4}\]\s{0,4}\[\s{0,8}(?<at>\d{1,16})\s{0,4}\/\s{0,4}(?<of>\d{1,16})\s{0,4}\]/y,
  fraction: /[[(]\s{0,8}(?<at>\d{1,16})\s{0,4}\/\s{0,4}(?<of>\d{1,16})\s{0,4}[\])]/y,
  share: /[[(]\s{0,4}\d{1,3}(?:\.\d{1,4})?\s?%\s{0,4}[\])]/y,
  time: new RegExp(
    String.raw`(?:${TIMES}${GAP})?(?:${CLOCK}|\d{1,16}(?:\.\d{1,9})?\s?${UNIT})`,
    flags,
  ),
  sign: /[\s,;:|>()[\]{}*#•·=–—]+|-+(?![\d.])/y,
} as const;

type TokenName = keyof typeof TOKENS;
const ORDER: readonly TokenName[] = [
  'date',
  'fractions',
  'both',
  'fraction',
  'share',
  'epoch',
  'step',
  'batch',
  'pair',
  'time',
  'sign',
];

/** A count at the beginning of a line that names nothing: `100: loss 2.5`. */
const LEADING = /^\s{0,12}(?<at>\d{1,16})(?=:?\s)\s{0,4}:?/;
const KNOWN_MEASURE = new RegExp(
  String.raw`(?<![a-z])(?:[a-z]{0,20}loss|${MEASURE})(?![a-z])`,
  'i',
);
const MAX_CHARS = 1000;
const MAX_TOKENS = 200;

/** What a line says that has a position and a measure, and no word that is neither; undefined for all other lines. */
export function plainLine(line: string): PlainLine | undefined {
  if (line.length > MAX_CHARS) return undefined;
  const text = withoutTensors(line);
  const found = new Map<TokenName, Readonly<Record<string, string | undefined>>>();
  const pairs: [string, string][] = [];
  const lead = LEADING.exec(text);
  for (let at = lead?.[0].length ?? 0, count = 0; at < text.length; count++) {
    const token = count < MAX_TOKENS ? tokenAt(text, at) : undefined;
    if (token === undefined) return undefined;
    const { groups = {}, length, name } = token;
    at += length;
    if (name === 'pair') pairs.push([groups['name'] ?? '', groups['value'] ?? '']);
    // Two of one counter are no counters.
    else if (groups['at'] !== undefined && found.has(name)) return undefined;
    else if (groups['at'] !== undefined) found.set(name, groups);
  }
  if (!pairs.some(([name]) => KNOWN_MEASURE.test(name))) return undefined;
  const position = positionOf(found, lead?.groups?.['at']);
  return position === undefined ? undefined : { ...position, pairs };
}

/** `tensor(0.5, device='cuda:0')` as the number that it is. */
export function withoutTensors(text: string): string {
  return text.includes('tensor(')
    ? text.replace(
        new RegExp(String.raw`tensor\((${NUMBER})(?:,[^()]{0,100}(?:<[^<>]{0,60}>)?)?\)`, 'g'),
        '$1',
      )
    : text;
}

function tokenAt(text: string, at: number) {
  for (const name of ORDER) {
    const pattern = TOKENS[name];
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null && match[0].length > 0)
      return { name, length: match[0].length, groups: match.groups };
  }
  return undefined;
}

function positionOf(
  found: ReadonlyMap<TokenName, Readonly<Record<string, string | undefined>>>,
  lead: string | undefined,
): Omit<PlainLine, 'pairs'> | undefined {
  const numberOf = (text: string | undefined): number =>
    text === undefined ? Number.NaN : Number(text);
  const both = found.get('fractions') ?? found.get('both');
  if (both !== undefined)
    return {
      epoch: numberOf(both['epoch']),
      step: numberOf(both['at']),
      epochSteps: numberOf(both['of'] ?? '0'),
    };
  const epoch = numberOf(found.get('epoch')?.['at']);
  const step = found.get('step');
  if (step !== undefined)
    return {
      epoch,
      step: numberOf(step['at']),
      epochSteps: ofEpoch(epoch, step['of'], Number.NaN),
    };
  const within = found.get('batch') ?? found.get('fraction');
  if (within !== undefined)
    return { epoch, step: numberOf(within['at']), epochSteps: ofEpoch(epoch, within['of'], 0) };
  if (epoch === epoch) return { epoch, step: Number.NaN, epochSteps: Number.NaN };
  return lead === undefined
    ? undefined
    : { epoch: Number.NaN, step: Number(lead), epochSteps: Number.NaN };
}

function ofEpoch(epoch: number, of: string | undefined, unknown: number): number {
  if (epoch !== epoch) return Number.NaN;
  return of === undefined ? unknown : Number(of);
}
