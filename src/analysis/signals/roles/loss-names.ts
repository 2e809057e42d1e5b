/** What the names of losses tell beyond that they are losses. */

/** A network that learns to tell what another made; in the middle of a name such as `train/D_A_loss`, too. */
const DISCRIMINATOR = /(?:^|[/_.-])(?:d|dis|disc|discriminator|critic)(?:[/_.-]|$)/iu;
const GENERATOR = /(?:^|[/_.-])(?:g|gen|generator)(?:[/_.-]|$)/iu;
/**
 * Leaves the losses of discriminators out where there are those of generators: what they say is how good the opponent is. All keys, where
 * only one side, or none, is named.
 */
export function withoutAdversaries(keys: readonly string[]): readonly string[] {
  return keys.some((key) => GENERATOR.test(key)) ? keys.filter((key) => !isOpponent(key)) : keys;
}

/** Whether losses are those of networks that are trained against each other. */
export function isAdversarial(keys: Iterable<string>): boolean {
  const losses = [...keys].filter((key) => /loss/iu.test(key));
  return losses.some((key) => GENERATOR.test(key)) && losses.some(isOpponent);
}

function isOpponent(key: string): boolean {
  return DISCRIMINATOR.test(key) && !GENERATOR.test(key);
}
