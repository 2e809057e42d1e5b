/** Every known pattern of text logs. */
import { END, NUMBER, pairs, pattern, type ProgramPattern } from './pattern-parts.ts';
import { PROGRAM_PATTERNS } from './program-patterns.ts';

/**
 * The known patterns, in the order in which they are tried; the first that finds a number in a line takes it. Patterns of the user come
 * before these.
 */
export const TEXT_LOG_PATTERNS: readonly ProgramPattern[] = Object.freeze([
  ...PROGRAM_PATTERNS,
  {
    name: 'megatron',
    pattern: pattern`(?:^|[\s:\]])iteration\s{1,20}(?<step>\d{1,16})\s{0,20}/\s{0,20}\d{1,16} ?\|`,
    pairs: pairs`(?:^|\|)\s{0,20}(?<key>[^|:]{1,80}):\s{0,20}(?<value>${NUMBER})\s{0,20}(?=\|)`,
  },
  {
    name: 'megatron_validation',
    pattern: pattern`validation loss at (?:iteration (?<step>\d{1,16})|the end of training)(?: (?:on|for) (?<phase>validation|val|test) (?:set|data))? {0,20}\|`,
    pairs: pairs`(?:^|\|)\s{0,20}(?<key>[^|:]{1,80}):\s{0,20}(?<value>${NUMBER})\s{0,20}(?=\|)`,
    namespace: 'val',
  },
  {
    name: 'llm_c_log',
    pattern: pattern`^s:(?<step>\d{1,16})\s`,
    pairs: pairs`(?<![\w])(?<key>[a-z]{1,20}):(?<value>${NUMBER})${END}`,
  },
  {
    name: 'llm_c',
    pattern: pattern`^step\s{1,20}(?<step>\d{1,16})/\d{1,16}\s?\|`,
    pairs: pairs`(?:^|\|)\s{0,20}(?<key>[a-z][a-z _]{0,30}?)\s{1,20}(?<value>${NUMBER})(?=[\s|]|$)`,
  },
  { name: 'llm_c_validation', pattern: pattern`^val loss (?<val_loss>${NUMBER})\s*$` },
  {
    name: 'modded_nanogpt',
    pattern: pattern`^step:(?<step>\d{1,16})(?:/\d{1,16})?\s`,
    pairs: pairs`(?<!\w)(?<key>[a-z]\w{0,30}):(?<value>${NUMBER})${END}`,
  },
  {
    name: 'nanogpt_validation',
    pattern: pattern`^step (?<step>\d{1,16}): train loss (?<train_loss_estimate>${NUMBER}), val loss (?<val_loss>${NUMBER})`,
  },
  {
    name: 'nanogpt',
    pattern: pattern`^iter (?<step>\d{1,16}):\s`,
    pairs: pairs`(?<![\w.])(?<key>[a-z]\w{0,30})\s(?<value>${NUMBER})${END}`,
  },
  {
    // A progress bar at its end; earlier states of it are running means.
    name: 'keras',
    pattern: pattern`^\s{0,10}(\d{1,16})/\1 .{0,200}?(?:\d(?:us|ms|s|m|h)(?:/(?:step|epoch|sample))?|\]) (?=- )`,
    pairs: pairs`- (?<key>[A-Za-z_][\w ./-]{0,60}): (?<value>${NUMBER})(?=\s|$)`,
    bar: 'keras',
  },
  {
    name: 'keras_short',
    pattern: pattern`^\s{0,4}- \d{1,8}(?:ms|s) (?=- )`,
    pairs: pairs`- (?<key>[A-Za-z_][\w ./-]{0,60}): (?<value>${NUMBER})(?=\s|$)`,
  },
  {
    name: 'python_dict',
    pattern: pattern`^\{(?=')`,
    pairs: pairs`'(?<key>[^'{}]{1,100})': '?(?<value>${NUMBER})'?(?=[,}])`,
  },
  {
    name: 'pytorch_mnist',
    stepUnit: 'samples',
    pattern: pattern`^Train Epoch: (?<epoch>\d{1,16}) \[(?<step>\d{1,16})/(?<epoch_steps>\d{1,16}) [^\]]{0,20}\]\s{1,8}Loss: (?<train_loss>${NUMBER})`,
  },
  {
    name: 'pytorch_mnist_test',
    pattern: pattern`^Test set: Average loss: (?<test_loss>${NUMBER}), Accuracy: \d{1,16}/\d{1,16} \((?<test_accuracy>${NUMBER})%\)`,
  },
  {
    name: 'pytorch_quickstart',
    stepUnit: 'samples',
    pattern: pattern`^loss: (?<train_loss>${NUMBER})\s{1,8}\[\s{0,8}(?<step>\d{1,16})/\s{0,8}(?<epoch_steps>\d{1,16})\]\s{0,4}$`,
  },
  {
    name: 'pytorch_quickstart_test',
    pattern: pattern`^\s{0,4}Accuracy: (?<test_accuracy>${NUMBER})%, Avg loss: (?<test_loss>${NUMBER})\s{0,4}$`,
  },
  {
    name: 'pytorch_dcgan',
    pattern: pattern`^\[(?<epoch>\d{1,16})/\d{1,16}\]\s?\[(?<step>\d{1,16})/(?<epoch_steps>\d{1,16})\](?=\s{1,8}Loss_D: )`,
    pairs: pairs`(?<key>[A-Za-z][\w()]{0,20}): (?<value>${NUMBER})(?= /|\s|$)`,
  },
  {
    name: 'pytorch_imagenet',
    pattern: pattern`^Epoch: \[(?<epoch>\d{1,16})\]\s{0,8}\[\s{0,8}(?<step>\d{1,16})/(?<epoch_steps>\d{1,16})\]`,
    pairs: pairs`(?<![\w@])(?<key>[A-Za-z][\w@]{0,30})\s{1,8}(?<value>${NUMBER})\s{0,4}\(`,
  },
]);
