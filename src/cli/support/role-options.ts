/** Options that say which metric plays which role. */
import type { AskedRoles } from '../../index.ts';
import type { OptionSpec } from './args.ts';
import type { CommandContext } from './command.ts';

const OPTIONS = {
  loss: ['trainLoss', 'the training loss'],
  val: ['valLoss', 'the validation loss'],
  accuracy: ['trainAccuracy', 'the accuracy of training'],
  'val-accuracy': ['valAccuracy', 'the accuracy of validation'],
  reward: ['reward', 'the reward, which is better when higher'],
} as const;

/** The options, as the commands of analysis and the import have them. */
export const ROLE_OPTIONS: Readonly<Record<string, OptionSpec>> = Object.fromEntries(
  Object.entries(OPTIONS).map(([name, [, noun]]): [string, OptionSpec] => [
    name,
    {
      kind: 'text',
      value: 'KEY',
      help: `Metric that is ${noun}; "none" for none. Default: found by names.`,
    },
  ]),
);

/** The roles that the options give. */
export function askedRoles(args: CommandContext['args']): AskedRoles {
  return Object.fromEntries(
    Object.entries(OPTIONS).flatMap(([name, [role]]) => {
      const key = args.text(name);
      return key === undefined ? [] : [[role, key === 'none' ? null : key] as const];
    }),
  );
}
