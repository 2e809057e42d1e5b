/** XGBoost, LightGBM and CatBoost: what they print, and the results they leave. */
import { curve, lines, overfitted } from './curves.ts';
import { entriesOf } from './entry.ts';

const TRAIN = curve(100, { from: 0.69, to: 0.12, digits: 5, noise: 0.002 });
const TEST = curve(100, { from: 0.69, to: 0.2, digits: 5, noise: 0.002, seed: 5 });
const WORSE = overfitted(100, { from: 0.69, to: 0.25, digits: 5, noise: 0.002, seed: 6 });
const AUC = curve(100, { from: 0.7, to: 0.98, digits: 5, noise: 0.001, seed: 8 });
const SHARE = curve(100, { from: 0.6, to: 0.93, digits: 7, noise: 0.004, seed: 9 });
const SHARE_TEST = curve(100, { from: 0.58, to: 0.9, digits: 7, noise: 0.004, seed: 10 });
const LAST = TRAIN.at(-1) ?? 0;
const LAST_TEST = TEST.at(-1) ?? 0;

const xgboost = (i: number, sets = ['train', 'eval'], metric = 'logloss'): string =>
  `[${i}]\t${sets.map((set, j) => `${set}-${metric}:${(j === 0 ? TRAIN : TEST)[i]?.toFixed(5)}`).join('\t')}`;

const lightgbm = (i: number): string =>
  `[${i + 1}]\ttraining's binary_logloss: ${TRAIN[i]}\tvalid_1's binary_logloss: ${TEST[i]}`;

const catboost = (i: number, every = 1): string =>
  `${i * every}:\tlearn: ${TRAIN[i]?.toFixed(7)}\ttest: ${TEST[i]?.toFixed(7)}\tbest: ${TEST[i]?.toFixed(7)} (${i * every})\ttotal: ${i < 60 ? `${i + 57}.1ms` : `1m ${i}s`}\tremaining: ${100 - i}s`;

export const boosting = [
  ...entriesOf('text_log', [
    {
      name: 'XGBoost, train and eval',
      make: () => ({ 'xgb.log': lines(100, (i) => xgboost(i)) }),
      series: 2,
      values: 200,
      last: { 'train/logloss': LAST, 'val/logloss': LAST_TEST },
      at: { 'train/logloss': 99 },
      says: ['training loss: train/logloss', 'validation loss: val/logloss'],
    },
    {
      name: 'XGBoost, early stopping: the best round is printed again',
      make: () => ({
        'xgb.txt': `[0]\ttrain-mlogloss:1.5\teval-mlogloss:1.6\nMultiple eval metrics have been passed: 'eval-mlogloss' will be used for early stopping.\n\nWill train until eval-mlogloss hasn't improved in 10 rounds.\n${lines(40, (i) => xgboost(i + 1, ['train', 'eval'], 'mlogloss'))}Stopping. Best iteration:\n[30]\ttrain-mlogloss:0.3\teval-mlogloss:0.35\n\n`,
      }),
      series: 2,
      values: 82,
      last: { 'train/mlogloss': TRAIN[40] ?? 0 },
      at: { 'train/mlogloss': 40 },
      says: ['training loss: train/mlogloss', 'validation loss: val/mlogloss'],
    },
    {
      name: 'XGBoost of R, from round 1, the last round twice, with blanks for tabs',
      make: () => ({
        'r.log': `${lines(50, (i) => `[${i + 1}]  train-rmse:${TRAIN[i]}    test-rmse:${TEST[i]} `)}Stopping. Best iteration:\n[50]  train-rmse:${TRAIN[49]}    test-rmse:${TEST[49]}\n\n[50]  train-rmse:${TRAIN[49]}    test-rmse:${TEST[49]} \n`,
      }),
      series: 2,
      values: 100,
      last: { 'train/rmse': TRAIN[49] ?? 0, 'test/rmse': TEST[49] ?? 0 },
      at: { 'test/rmse': 50 },
      says: ['training loss: train/rmse', 'validation loss: test/rmse'],
    },
    {
      name: 'XGBoost, cross-validation with deviations',
      make: () => ({
        'cv.txt': lines(
          30,
          (i) =>
            `[${i}]\ttrain-rmse:${TRAIN[i]}+0.01234\ttest-rmse:${TEST[i]}+${i === 3 ? 'nan' : '0.04567'}`,
        ),
      }),
      series: 4,
      values: 120,
      last: { 'train/rmse': TRAIN[29] ?? 0, 'test/rmse_std': 0.04567 },
      says: ['training loss: train/rmse', 'validation loss: test/rmse'],
    },
    {
      name: 'XGBoost for scikit-learn with one evaluation set and two measures',
      make: () => ({
        'fit.out': lines(
          60,
          (i) => `[${i}]\tvalidation_0-logloss:${TRAIN[i]}\tvalidation_0-auc:${AUC[i]}`,
        ),
      }),
      series: 2,
      values: 120,
      last: { 'validation_0/logloss': TRAIN[59] ?? 0 },
      says: ['training loss: none', 'validation loss: validation_0/logloss'],
    },
    {
      name: 'XGBoost from a shell, with the time of day',
      make: () => ({
        'shell.log': `[10:04:05] 6513x127 matrix with 143286 entries loaded from agaricus.txt.train\n${lines(20, (i) => `[10:04:${String(i + 10)}] [${i}]\ttest-error:${TEST[i]}\ttrain-error:${TRAIN[i]}`)}`,
      }),
      series: 2,
      values: 40,
      at: { 'train/error': 19 },
      says: ['training loss: train/error', 'validation loss: test/error'],
    },
    {
      name: 'XGBoost, ranking measures with a minus, verbose_eval=10',
      make: () => ({
        'rank.log': lines(10, (i) => `[${i * 10}]\teval-ndcg@5-:${AUC[i]}\teval-map@10:${AUC[i]}`),
      }),
      series: 2,
      values: 20,
      at: { 'val/ndcg_5-': 90 },
      says: ['training loss: none', 'validation loss: none', 'health overall: not_assessed'],
    },
    {
      name: 'XGBoost, five folds in one file',
      make: () => ({
        'folds.log': Array.from(
          { length: 5 },
          (_, fold) => `Fold ${fold}\n${lines(20, (i) => xgboost(i))}`,
        ).join(''),
      }),
      runs: 5,
      series: 10,
      values: 200,
      at: { 'train/logloss': 19 },
      says: ['training loss: train/logloss', 'validation loss: val/logloss'],
    },
    {
      name: 'XGBoost with CRLF, cut off in a line',
      make: () => ({
        'xgb.log': `${lines(30, (i) => `${xgboost(i)}\r`)}[30]\ttrain-logloss:0.4`,
      }),
      series: 2,
      values: 61,
      last: { 'train/logloss': 0.4 },
      says: ['training loss: train/logloss', 'validation loss: val/logloss'],
    },
    {
      name: 'LightGBM with training and validation',
      make: () => ({
        'lgb.log': `[LightGBM] [Info] Number of positive: 4082, number of negative: 3918\n[LightGBM] [Info] Total Bins 6132\n[LightGBM] [Info] [binary:BoostFromScore]: pavg=0.510250 -> initscore=0.041006\n${lines(100, lightgbm)}`,
      }),
      series: 2,
      values: 200,
      last: { 'train/binary_logloss': LAST, 'val/binary_logloss': LAST_TEST },
      at: { 'val/binary_logloss': 100 },
      says: ['training loss: train/binary_logloss', 'validation loss: val/binary_logloss'],
    },
    {
      name: 'LightGBM, early stopping, the best round again with all its sets',
      make: () => ({
        'lgb.out': `Training until validation scores don't improve for 10 rounds\n${lines(60, lightgbm)}Early stopping, best iteration is:\n${lightgbm(49)}\n`,
      }),
      series: 2,
      values: 120,
      at: { 'train/binary_logloss': 60 },
      says: ['training loss: train/binary_logloss', 'validation loss: val/binary_logloss'],
    },
    {
      name: 'LightGBM, log_evaluation(50), did not meet early stopping',
      make: () => ({
        'lgb.out': `Training until validation scores don't improve for 100 rounds\n[50]\tvalid_0's l2: 0.5\tvalid_0's l1: 0.6\n[100]\tvalid_0's l2: 0.25\tvalid_0's l1: 0.4\nDid not meet early stopping. Best iteration is:\n[100]\tvalid_0's l2: 0.25\tvalid_0's l1: 0.4\n`,
      }),
      series: 2,
      values: 4,
      last: { 'val/l2': 0.25, 'val/l1': 0.4 },
      at: { 'val/l2': 100 },
      says: ['training loss: none', 'validation loss: none', 'health overall: not_assessed'],
    },
    {
      name: 'LightGBM, two validation sets',
      make: () => ({
        'lgb.log': lines(
          20,
          (i) => `[${i + 1}]\tvalid_0's rmse: ${TRAIN[i]}\tvalid_1's rmse: ${TEST[i]}`,
        ),
      }),
      series: 2,
      values: 40,
      last: { 'val/rmse': TRAIN[19] ?? 0, 'valid_1/rmse': TEST[19] ?? 0 },
      says: ['training loss: none', 'validation loss: val/rmse'],
    },
    {
      name: 'LightGBM, cross-validation before version 4',
      make: () => ({
        'cv.log': lines(20, (i) => `[${i + 1}]\tcv_agg's auc: ${AUC[i]} + 0.00319843`),
      }),
      series: 2,
      values: 40,
      last: { 'val/auc': AUC[19] ?? 0 },
      says: ['training loss: none', 'validation loss: none', 'health overall: not_assessed'],
    },
    {
      name: 'LightGBM, cross-validation with both sides',
      make: () => ({
        'cv.log': `${lines(20, (i) => `[${i + 1}]\tcv_agg's train l2: ${TRAIN[i]} + 0.001\tcv_agg's valid l2: ${TEST[i]} + 0.002`)}Early stopping, best iteration is:\n[12]\tcv_agg's train l2: 0.3 + 0.001\tcv_agg's valid l2: 0.3 + 0.002\n`,
      }),
      series: 4,
      values: 80,
      last: { 'train/l2': TRAIN[19] ?? 0, 'val/l2': TEST[19] ?? 0 },
      says: ['training loss: train/l2', 'validation loss: val/l2'],
    },
    {
      name: 'LightGBM from a shell: a line for each measure',
      make: () => ({
        'lightgbm.log': lines(
          20,
          (i) =>
            `[LightGBM] [Info] Iteration:${i + 1}, training auc : ${AUC[i]}\n[LightGBM] [Info] Iteration:${i + 1}, valid_1 auc : ${AUC[i]}\n[LightGBM] [Info] 0.016334 seconds elapsed, finished iteration ${i + 1}`,
        ),
      }),
      series: 2,
      values: 40,
      at: { 'val/auc': 20 },
      says: ['training loss: none', 'validation loss: none', 'health overall: not_assessed'],
    },
    {
      name: 'CatBoost with an evaluation set',
      make: () => ({
        'cat.log': `Learning rate set to 0.03\n${lines(100, (i) => catboost(i))}\nbestTest = 0.2012345\nbestIteration = 97\n\nShrink model to first 98 iterations.\n`,
      }),
      series: 2,
      values: 200,
      last: { 'learn/objective': LAST, 'test/objective': LAST_TEST },
      at: { 'learn/objective': 99 },
      says: ['training loss: learn/objective', 'validation loss: test/objective'],
    },
    {
      name: 'CatBoost, verbose=100',
      make: () => ({ 'cat.txt': lines(11, (i) => catboost(i, 100)) }),
      series: 2,
      values: 22,
      at: { 'test/objective': 1000 },
      says: ['training loss: learn/objective', 'validation loss: test/objective'],
    },
    {
      name: 'CatBoost without an evaluation set',
      make: () => ({
        'cat.log': lines(30, (i) => `${i}:\tlearn: ${TRAIN[i]}\ttotal: 1.2s\tremaining: 3.4s`),
      }),
      series: 1,
      values: 30,
      says: ['training loss: learn/objective', 'validation loss: none'],
    },
    {
      name: 'CatBoost with accuracy for its measure, which it prints of the training, too',
      make: () => ({
        'cat.log': lines(
          100,
          (i) =>
            `${i}:\tlearn: ${SHARE[i]}\ttest: ${SHARE_TEST[i]}\tbest: ${Math.max(...SHARE_TEST.slice(0, i + 1))} (${i})\ttotal: ${i}ms\tremaining: 1s`,
        ),
      }),
      series: 2,
      values: 200,
      last: { 'learn/score': SHARE.at(-1) ?? 0, 'test/score': SHARE_TEST.at(-1) ?? 0 },
      says: ['training loss: none', 'validation loss: none'],
      saysNot: [/loss_not_decreasing|does not fall/],
    },
    {
      name: 'CatBoost with accuracy, without an evaluation set',
      make: () => ({
        'cat.log': lines(100, (i) => `${i}:\tlearn: ${SHARE[i]}\ttotal: ${i}ms\tremaining: 1s`),
      }),
      series: 1,
      values: 100,
      last: { 'learn/score': SHARE.at(-1) ?? 0 },
      says: ['training loss: none', 'validation loss: none'],
      saysNot: [/loss_not_decreasing|does not fall/],
    },
    {
      name: 'CatBoost with a measure that it does not take of the training, such as AUC',
      make: () => ({
        'cat.log': lines(
          30,
          (i) => `${i}:\ttest: ${AUC[i]}\tbest: ${AUC[i]} (${i})\ttotal: 1.2s\tremaining: 3.4s`,
        ),
      }),
      series: 1,
      values: 30,
      last: { 'test/eval_metric': AUC[29] ?? 0 },
      says: ['training loss: none', 'validation loss: none', 'health overall: not_assessed'],
    },
  ]),
  ...entriesOf('json', [
    {
      name: 'evals_result of XGBoost',
      make: () => ({
        'evals_result.json': JSON.stringify({
          train: { logloss: TRAIN, auc: AUC },
          eval: { logloss: TEST, auc: AUC },
        }),
      }),
      series: 4,
      values: 400,
      last: { 'train/logloss': LAST, 'val/logloss': LAST_TEST },
      at: { 'train/logloss': 99 },
      says: ['training loss: train/logloss', 'validation loss: val/logloss'],
    },
    {
      name: 'record_evaluation of LightGBM',
      make: () => ({
        'evals.json': JSON.stringify(
          { training: { binary_logloss: TRAIN }, valid_1: { binary_logloss: TEST } },
          null,
          2,
        ),
      }),
      series: 2,
      values: 200,
      last: { 'train/binary_logloss': LAST, 'val/binary_logloss': LAST_TEST },
      says: ['training loss: train/binary_logloss', 'validation loss: val/binary_logloss'],
    },
    {
      name: 'evals_result of CatBoost',
      make: () => ({
        'evals.json': JSON.stringify({
          learn: { Logloss: TRAIN },
          validation: { Logloss: TEST, AUC },
        }),
      }),
      series: 3,
      values: 300,
      last: { 'learn/Logloss': LAST, 'val/Logloss': LAST_TEST },
      says: ['training loss: learn/Logloss', 'validation loss: val/Logloss'],
    },
    {
      name: 'results of cv, means beside deviations',
      make: () => ({
        'cv.json': JSON.stringify({
          'train-rmse-mean': TRAIN,
          'train-rmse-std': TRAIN,
          'test-rmse-mean': TEST,
          'test-rmse-std': TEST,
        }),
      }),
      series: 4,
      values: 400,
      says: ['training loss: train-rmse-mean', 'validation loss: test-rmse-mean'],
    },
  ]),
  ...entriesOf('catboost', [
    {
      name: 'the folder catboost_info',
      make: () => catBoostInfo(),
      series: 3,
      values: 300,
      last: { 'learn/Logloss': LAST, 'test/Logloss': LAST_TEST },
      at: { 'learn/Logloss': 99 },
      says: ['training loss: learn/Logloss', 'validation loss: test/Logloss'],
    },
    {
      name: 'learn_error.tsv and test_error.tsv alone',
      make: () =>
        Object.fromEntries(
          Object.entries(catBoostInfo()).filter(([path]) => path.endsWith('error.tsv')),
        ),
      series: 3,
      values: 300,
      last: { 'test/AUC': AUC.at(-1) ?? 0 },
      at: { 'test/Logloss': 99 },
      says: ['training loss: learn/Logloss', 'validation loss: test/Logloss'],
    },
    {
      name: 'catboost_training.json, of a training that overfits',
      make: () => ({
        'catboost_training.json': trainingJson(WORSE),
      }),
      series: 3,
      values: 300,
      last: { 'test/Logloss': WORSE.at(-1) ?? 0 },
      says: ['training loss: learn/Logloss', 'validation loss: test/Logloss'],
    },
    {
      name: 'catboost_training.json that is cut off while it is written',
      make: () => ({
        'catboost_info/catboost_training.json': `${trainingJson(TEST).split(',\n').slice(0, 22).join(',\n')},\n{"learn":[0.`,
      }),
      series: 3,
      values: 3 * 21,
      problems: [/ends in the middle/],
      says: ['training loss: learn/Logloss', 'validation loss: test/Logloss'],
    },
  ]),
];

function catBoostInfo(): Record<string, string> {
  return {
    'catboost_info/catboost_training.json': trainingJson(TEST),
    'catboost_info/learn_error.tsv': `iter\tLogloss\n${lines(100, (i) => `${i}\t${TRAIN[i]}`)}`,
    'catboost_info/test_error.tsv': `iter\tLogloss\tAUC\n${lines(100, (i) => `${i}\t${TEST[i]}\t${AUC[i]}`)}`,
    'catboost_info/time_left.tsv': `iter\tPassed\tRemaining\n${lines(100, (i) => `${i}\t${i * 5}\t${500 - i * 5}`)}`,
  };
}

function trainingJson(test: readonly number[]): string {
  const iterations = TRAIN.map((loss, i) =>
    JSON.stringify({
      learn: [loss],
      iteration: i,
      passed_time: 0.05 * i,
      remaining_time: 5 - 0.05 * i,
      test: [test[i], AUC[i]],
    }),
  );
  return `{\n"meta":{"test_sets":["test"],"test_metrics":[{"best_value":"Min","name":"Logloss"},{"best_value":"Max","name":"AUC"}],"learn_metrics":[{"best_value":"Min","name":"Logloss"}],"launch_mode":"Train","parameters":"","iteration_count":100,"learn_sets":["learn"],"name":"experiment"},\n"iterations":[\n${iterations.join(',\n')}\n]}`;
}
