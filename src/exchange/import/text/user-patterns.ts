/** Patterns that users give as text: checked once, and matched in linear time. */
import { invalidInput } from '../../../base/errors.ts';
import { LinearPattern } from '../../../codecs/pattern/linear-pattern.ts';

const MAX_PATTERNS = 100;
/** Groups that say where a value belongs and are none. */
const POSITIONS = new Set(['step', 'epoch', 'time', 'phase', 'epoch_steps', 'key', 'value']);

const compiled = new Map<string, LinearPattern>();

/**
 * The patterns of an option.
 *
 * @throws {QuarkError} `invalid_input` for one that is no pattern, or that names no value
 */
export function linearPatterns(
  given: string | readonly string[] | undefined,
): readonly LinearPattern[] {
  if (given === undefined) return [];
  const sources: readonly unknown[] = typeof given === 'string' ? [given] : given;
  if (!Array.isArray(sources) || sources.length > MAX_PATTERNS)
    throw invalidInput('pattern', given, `a text, or a list of at most ${MAX_PATTERNS}`);
  return sources.map((source) => {
    if (typeof source !== 'string' || source === '')
      throw invalidInput('pattern', source, 'a text that is not empty');
    return compiled.get(source) ?? compile(source);
  });
}

function compile(source: string): LinearPattern {
  const made = new LinearPattern(source);
  const hasPair = made.names.includes('key') && made.names.includes('value');
  if (!hasPair && made.names.every((name) => POSITIONS.has(name)))
    throw invalidInput(
      'pattern',
      source,
      'a pattern with a named group for a value, such as (?<loss>\\S+), or with the groups key and value',
    );
  if (compiled.size >= MAX_PATTERNS) compiled.clear();
  compiled.set(source, made);
  return made;
}
