/** Names of metrics as programs write them, and the roles that they play. */
import { describe, expect, test } from 'vitest';
import { findRoles, type RoleChoice } from 'quark-sdk/analysis';
import { readNames } from '../../../../src/analysis/signals/roles/names.ts';
import { byStep } from '../../../support/loss-curves.ts';

/** Keys of the program, and by role what is to be found: train, val, trainAcc, valAcc, reward. */
type NameSet = readonly [
  program: string,
  keys: string,
  roles: {
    readonly train?: string;
    readonly val?: string;
    readonly trainAcc?: string;
    readonly valAcc?: string;
    readonly reward?: string;
  },
];

const SETS: readonly NameSet[] = [
  // What the commonest loops write.
  ['PyTorch, capital first', 'Loss/train Loss/val', { train: 'Loss/train', val: 'Loss/val' }],
  ['PyTorch, valid', 'Loss/train Loss/valid', { train: 'Loss/train', val: 'Loss/valid' }],
  [
    'PyTorch, Validation',
    'Loss/train Loss/Validation',
    { train: 'Loss/train', val: 'Loss/Validation' },
  ],
  ['PyTorch, test', 'Loss/train Loss/test', { train: 'Loss/train', val: 'Loss/test' }],
  [
    'PyTorch tutorial',
    'Loss/train Loss/test Accuracy/train Accuracy/test',
    { train: 'Loss/train', val: 'Loss/test', trainAcc: 'Accuracy/train', valAcc: 'Accuracy/test' },
  ],
  ['PyTorch, all three', 'Loss/train Loss/val Loss/test', { train: 'Loss/train', val: 'Loss/val' }],
  ['lower case', 'loss/train loss/val', { train: 'loss/train', val: 'loss/val' }],
  ['suffix', 'loss_train loss_val', { train: 'loss_train', val: 'loss_val' }],
  ['prefix and test', 'train_loss test_loss', { train: 'train_loss', val: 'test_loss' }],
  ['short', 'tr_loss vl_loss', { train: 'tr_loss', val: 'vl_loss' }],
  [
    'training and validation',
    'training_loss validation_loss',
    { train: 'training_loss', val: 'validation_loss' },
  ],
  [
    'words',
    'Training_Loss Validation_Loss Training_Accuracy Validation_Accuracy',
    {
      train: 'Training_Loss',
      val: 'Validation_Loss',
      trainAcc: 'Training_Accuracy',
      valAcc: 'Validation_Accuracy',
    },
  ],
  [
    'camelCase',
    'trainLoss valLoss trainAcc valAcc',
    { train: 'trainLoss', val: 'valLoss', trainAcc: 'trainAcc', valAcc: 'valAcc' },
  ],
  ['camelCase, turned', 'lossTrain lossTest', { train: 'lossTrain', val: 'lossTest' }],
  ['PascalCase', 'TrainLoss ValidLoss', { train: 'TrainLoss', val: 'ValidLoss' }],
  [
    'glued',
    'trainloss testloss trainacc testacc',
    { train: 'trainloss', val: 'testloss', trainAcc: 'trainacc', valAcc: 'testacc' },
  ],
  ['dots', 'train.loss dev.loss', { train: 'train.loss', val: 'dev.loss' }],
  ['dashes', 'train-loss eval-loss', { train: 'train-loss', val: 'eval-loss' }],
  [
    'in the middle',
    'epoch/train/loss epoch/val/loss',
    { train: 'epoch/train/loss', val: 'epoch/val/loss' },
  ],
  [
    'folders in front',
    'metrics/train_loss metrics/val_loss',
    { train: 'metrics/train_loss', val: 'metrics/val_loss' },
  ],
  [
    'an experiment in front',
    'exp-7/train/loss exp-7/val/loss exp-7/val/accuracy exp-7/lr',
    { train: 'exp-7/train/loss', val: 'exp-7/val/loss', valAcc: 'exp-7/val/accuracy' },
  ],
  ['unmarked', 'loss val_loss', { train: 'loss', val: 'val_loss' }],
  ['unmarked and test', 'loss test_loss', { train: 'loss', val: 'test_loss' }],
  [
    'in-sample',
    'in_sample_mse out_of_sample_mse',
    { train: 'in_sample_mse', val: 'out_of_sample_mse' },
  ],
  ['two words', 'train/nll held_out/nll', { train: 'train/nll', val: 'held_out/nll' }],
  ['holdout', 'train_rmse holdout_rmse', { train: 'train_rmse', val: 'holdout_rmse' }],
  ['depth completion', 'RMSE_Train RMSE_Val LR', { train: 'RMSE_Train', val: 'RMSE_Val' }],
  [
    'SpeechBrain',
    'train_loss valid_loss valid_error lr',
    { train: 'train_loss', val: 'valid_loss' },
  ],
  ['average', 'avg_train_loss avg_val_loss', { train: 'avg_train_loss', val: 'avg_val_loss' }],
  [
    'best so far is none',
    'train/total val/total best_val_loss train_loss val_loss',
    { train: 'train_loss', val: 'val_loss' },
  ],
  // Keras.
  [
    'Keras classifier',
    'accuracy loss val_accuracy val_loss',
    { train: 'loss', val: 'val_loss', trainAcc: 'accuracy', valAcc: 'val_accuracy' },
  ],
  [
    'Keras, old',
    'acc loss val_acc val_loss lr',
    { train: 'loss', val: 'val_loss', trainAcc: 'acc', valAcc: 'val_acc' },
  ],
  ['Keras regression', 'loss mae mse val_loss val_mae val_mse', { train: 'loss', val: 'val_loss' }],
  ['Keras without its loss', 'mse val_mse', { train: 'mse', val: 'val_mse' }],
  [
    'Keras, sparse',
    'loss sparse_categorical_accuracy val_loss val_sparse_categorical_accuracy',
    {
      train: 'loss',
      val: 'val_loss',
      trainAcc: 'sparse_categorical_accuracy',
      valAcc: 'val_sparse_categorical_accuracy',
    },
  ],
  [
    'Keras, two outputs',
    'loss out_a_loss out_b_loss val_loss val_out_a_loss val_out_b_loss',
    { train: 'loss', val: 'val_loss' },
  ],
  [
    'Keras in TensorBoard, imported',
    'train/loss train/accuracy val/loss val/accuracy optimizer/lr',
    { train: 'train/loss', val: 'val/loss', trainAcc: 'train/accuracy', valAcc: 'val/accuracy' },
  ],
  [
    'Keras in TensorBoard, raw',
    'train/epoch_loss validation/epoch_loss train/epoch_accuracy validation/epoch_accuracy',
    {
      train: 'train/epoch_loss',
      val: 'validation/epoch_loss',
      trainAcc: 'train/epoch_accuracy',
      valAcc: 'validation/epoch_accuracy',
    },
  ],
  [
    'Keras batches',
    'batch_loss epoch_loss epoch_val_loss',
    { train: 'epoch_loss', val: 'epoch_val_loss' },
  ],
  [
    'TensorFlow.js',
    'loss acc val_loss val_acc',
    { train: 'loss', val: 'val_loss', trainAcc: 'acc', valAcc: 'val_acc' },
  ],
  [
    'TF Estimator',
    'loss global_step/sec eval/loss eval/accuracy',
    { train: 'loss', val: 'eval/loss', valAcc: 'eval/accuracy' },
  ],
  [
    'TF object detection',
    'Loss/total_loss Loss/classification_loss Loss/localization_loss learning_rate',
    { train: 'Loss/total_loss' },
  ],
  // Lightning.
  ['Lightning', 'train_loss val_loss epoch', { train: 'train_loss', val: 'val_loss' }],
  [
    'Lightning, forked',
    'train_loss_step train_loss_epoch val_loss',
    { train: 'train_loss_epoch', val: 'val_loss' },
  ],
  [
    'Lightning with folders',
    'train/loss val/loss val/acc train/acc test/loss test/acc',
    { train: 'train/loss', val: 'val/loss', trainAcc: 'train/acc', valAcc: 'val/acc' },
  ],
  [
    'Lightning, two loaders',
    'train_loss val_loss/dataloader_idx_0 val_loss/dataloader_idx_1',
    { train: 'train_loss', val: 'mean of val_loss/dataloader_idx_0, val_loss/dataloader_idx_1' },
  ],
  ['Lightning bolts GAN', 'loss/gen_loss loss/disc_loss', { train: 'loss/gen_loss' }],
  // Hugging Face.
  [
    'HF Trainer',
    'loss grad_norm learning_rate eval_loss eval_accuracy eval_runtime eval_samples_per_second',
    { train: 'loss', val: 'eval_loss', valAcc: 'eval_accuracy' },
  ],
  [
    'HF in W&B',
    'train/loss train/grad_norm train/learning_rate eval/loss eval/runtime eval/steps_per_second',
    { train: 'train/loss', val: 'eval/loss' },
  ],
  [
    'HF, several sets',
    'train/loss eval/mnli_loss eval/qqp_loss',
    { train: 'train/loss', val: 'mean of eval/mnli_loss, eval/qqp_loss' },
  ],
  [
    'HF text',
    'train_loss eval_loss eval_bleu eval_gen_len',
    { train: 'train_loss', val: 'eval_loss' },
  ],
  [
    'Accelerate example',
    'train_loss accuracy epoch',
    { train: 'train_loss', trainAcc: 'accuracy' },
  ],
  [
    'TRL SFT',
    'loss mean_token_accuracy entropy num_tokens eval_loss eval_mean_token_accuracy',
    {
      train: 'loss',
      val: 'eval_loss',
      trainAcc: 'mean_token_accuracy',
      valAcc: 'eval_mean_token_accuracy',
    },
  ],
  [
    'TRL DPO',
    'loss rewards/chosen rewards/rejected rewards/accuracies rewards/margins logps/chosen eval_loss',
    { train: 'loss', val: 'eval_loss' },
  ],
  [
    'TRL GRPO',
    'loss reward reward_std rewards/format_reward/mean kl clip_ratio completions/mean_length',
    { train: 'loss', reward: 'reward' },
  ],
  [
    'TRL RLOO',
    'loss/policy_avg objective/rlhf_reward objective/non_score_reward objective/kl val/ratio val/clipfrac_avg',
    { train: 'loss/policy_avg', reward: 'objective/rlhf_reward' },
  ],
  [
    'TRL PPO',
    'ppo/loss/policy ppo/loss/value ppo/loss/total env/reward_mean env/reward_std',
    { train: 'ppo/loss/policy', reward: 'env/reward_mean' },
  ],
  // Other frameworks.
  [
    'fastai',
    'train_loss valid_loss accuracy error_rate',
    { train: 'train_loss', val: 'valid_loss', trainAcc: 'accuracy' },
  ],
  [
    'fastai in W&B',
    'train_loss raw_loss valid_loss lr_0',
    { train: 'train_loss', val: 'valid_loss' },
  ],
  [
    'Ultralytics v8',
    'train/box_loss train/cls_loss train/dfl_loss val/box_loss val/cls_loss val/dfl_loss metrics/mAP50_B metrics/precision_B',
    {
      train: 'train/box_loss + train/cls_loss + train/dfl_loss',
      val: 'val/box_loss + val/cls_loss + val/dfl_loss',
    },
  ],
  [
    'YOLO without the word',
    'train/box train/obj val/box val/obj metrics/mAP_0.5',
    { train: 'train/box + train/obj', val: 'val/box + val/obj' },
  ],
  [
    'Ultralytics classify',
    'train/loss val/loss metrics/accuracy_top1 metrics/accuracy_top5',
    { train: 'train/loss', val: 'val/loss', trainAcc: 'metrics/accuracy_top1' },
  ],
  [
    'MMDetection',
    'loss loss_cls loss_bbox loss_mask coco/bbox_mAP lr data_time',
    { train: 'loss' },
  ],
  ['MMDetection 2', 'loss_rpn_cls s0.loss_cls s0.acc s0.loss_bbox loss', { train: 'loss' }],
  [
    'MMSegmentation',
    'decode.loss_ce decode.acc_seg aux.loss_ce aux.acc_seg loss aAcc mIoU',
    { train: 'loss' },
  ],
  ['MMPose', 'loss loss_kpt acc_pose coco/AP', { train: 'loss' }],
  ['MMPretrain', 'loss accuracy/top1 accuracy/top5', { train: 'loss', trainAcc: 'accuracy/top1' }],
  [
    'detectron2',
    'total_loss loss_cls loss_box_reg loss_rpn_cls loss_rpn_loc validation_loss',
    { train: 'total_loss', val: 'validation_loss' },
  ],
  ['nanoGPT in W&B', 'train/loss val/loss lr mfu', { train: 'train/loss', val: 'val/loss' }],
  [
    'nanoGPT, evaluations only',
    'train_loss_estimate val/loss',
    { train: 'train_loss_estimate', val: 'val/loss' },
  ],
  [
    'nanoGPT, imported',
    'train/loss train_loss_estimate val/loss time mfu',
    { train: 'train/loss', val: 'val/loss' },
  ],
  ['litGPT', 'loss iter_time val_loss val_ppl', { train: 'loss', val: 'val_loss' }],
  ['torchtune', 'loss lr tokens_per_second_per_gpu grad_norm', { train: 'loss' }],
  [
    'llm.c, imported',
    'train/loss val/loss eval/hellaswag',
    { train: 'train/loss', val: 'val/loss' },
  ],
  [
    'Megatron-LM',
    'lm_loss lm_loss_validation lm_loss_validation_ppl grad-norm',
    { train: 'lm_loss', val: 'lm_loss_validation' },
  ],
  [
    'DeepSpeed',
    'Train/Samples/train_loss Train/Samples/lr Train/Samples/loss_scale',
    { train: 'Train/Samples/train_loss' },
  ],
  [
    'GPT-NeoX',
    'train/lm_loss validation/lm_loss validation/lm_loss_ppl',
    { train: 'train/lm_loss', val: 'validation/lm_loss' },
  ],
  [
    'fairseq',
    'train_loss train_nll_loss train_ppl valid_loss valid_nll_loss valid_ppl',
    { train: 'train_loss', val: 'valid_loss' },
  ],
  [
    'fairseq in TensorBoard',
    'train_inner/loss train_inner/ppl valid/loss valid/ppl',
    { train: 'train_inner/loss', val: 'valid/loss' },
  ],
  [
    'timm summary',
    'train_loss eval_loss eval_top1 eval_top5 lr',
    { train: 'train_loss', val: 'eval_loss', valAcc: 'eval_top1' },
  ],
  [
    'DeiT',
    'train_lr train_loss test_loss test_acc1 test_acc5',
    { train: 'train_loss', val: 'test_loss', valAcc: 'test_acc1' },
  ],
  ['DINO', 'train_loss train_lr train_wd', { train: 'train_loss' }],
  [
    'PyTorch ImageNet',
    'train/Loss train/Acc_1 train/Acc_5 val/Loss val/Acc_1 val/Acc_5',
    { train: 'train/Loss', val: 'val/Loss', trainAcc: 'train/Acc_1', valAcc: 'val/Acc_1' },
  ],
  ['spaCy', 'loss_tok2vec loss_ner ents_f score', { train: 'loss_tok2vec' }],
  ['sklearn MLP', 'loss validation_score', { train: 'loss' }],
  [
    'ESPnet',
    'train/loss train/acc valid/loss valid/acc valid/cer',
    { train: 'train/loss', val: 'valid/loss', trainAcc: 'train/acc', valAcc: 'valid/acc' },
  ],
  [
    'NeMo',
    'train_loss val_loss val_wer train_step_timing_in_s',
    { train: 'train_loss', val: 'val_loss' },
  ],
  [
    'nnU-Net',
    'train_losses val_losses mean_fg_dice ema_fg_dice',
    { train: 'train_losses', val: 'val_losses' },
  ],
  [
    'AllenNLP',
    'training_loss training_accuracy validation_loss validation_accuracy best_validation_loss',
    {
      train: 'training_loss',
      val: 'validation_loss',
      trainAcc: 'training_accuracy',
      valAcc: 'validation_accuracy',
    },
  ],
  [
    'Composer',
    'loss/train/total metrics/train/CrossEntropy metrics/eval/CrossEntropy',
    { train: 'loss/train/total' },
  ],
  [
    'T5X',
    'train/loss train/accuracy train/cross_ent_loss training_eval/loss',
    { train: 'train/loss', trainAcc: 'train/accuracy' },
  ],
  ['Flair', 'TRAIN_LOSS DEV_LOSS DEV_F1', { train: 'TRAIN_LOSS', val: 'DEV_LOSS' }],
  [
    'word language model',
    'train/loss train/ppl val/loss val/ppl',
    { train: 'train/loss', val: 'val/loss' },
  ],
  // Boosted trees.
  ['XGBoost', 'train-mlogloss eval-mlogloss', { train: 'train-mlogloss', val: 'eval-mlogloss' }],
  [
    'XGBoost, two metrics',
    'train-auc train-logloss test-auc test-logloss',
    { train: 'train-logloss', val: 'test-logloss' },
  ],
  ['XGBoost regression', 'train-rmse valid-rmse', { train: 'train-rmse', val: 'valid-rmse' }],
  [
    'LightGBM',
    'training_s_binary_logloss valid_1_s_binary_logloss',
    { train: 'training_s_binary_logloss', val: 'valid_1_s_binary_logloss' },
  ],
  ['LightGBM regression', 'training_l2 valid_1_l2', { train: 'training_l2', val: 'valid_1_l2' }],
  [
    'LightGBM JSON',
    'train/l1 train/l2 valid_0/l1 valid_0/l2',
    { train: 'train/l1 + train/l2', val: 'valid_0/l1 + valid_0/l2' },
  ],
  ['CatBoost', 'learn/Logloss test/Logloss', { train: 'learn/Logloss', val: 'test/Logloss' }],
  [
    'CatBoost, more metrics',
    'learn/MultiClass test/MultiClass learn/Accuracy test/Accuracy',
    {
      train: 'learn/MultiClass',
      val: 'test/MultiClass',
      trainAcc: 'learn/Accuracy',
      valAcc: 'test/Accuracy',
    },
  ],
  ['CatBoost regression', 'learn/RMSE test/RMSE', { train: 'learn/RMSE', val: 'test/RMSE' }],
  // Agents.
  [
    'Stable-Baselines3 PPO',
    'rollout/ep_rew_mean rollout/ep_len_mean train/loss train/value_loss train/policy_gradient_loss train/entropy_loss eval/mean_reward eval/mean_ep_length',
    { train: 'train/loss', reward: 'rollout/ep_rew_mean' },
  ],
  [
    'Stable-Baselines3 evaluation',
    'train/actor_loss train/critic_loss eval/mean_reward',
    { train: 'train/actor_loss + train/critic_loss', reward: 'eval/mean_reward' },
  ],
  [
    'baselines',
    'eprewmean eplenmean policy_entropy policy_loss value_loss',
    { train: 'policy_loss', reward: 'eprewmean' },
  ],
  [
    'RLlib',
    'episode_reward_mean episode_reward_max episode_reward_min episode_len_mean info/learner/default_policy/learner_stats/total_loss',
    {
      train: 'info/learner/default_policy/learner_stats/total_loss',
      reward: 'episode_reward_mean',
    },
  ],
  [
    'RLlib, new',
    'env_runners/episode_return_mean env_runners/episode_return_min learners/default_policy/total_loss',
    { train: 'learners/default_policy/total_loss', reward: 'env_runners/episode_return_mean' },
  ],
  [
    'CleanRL',
    'charts/episodic_return charts/episodic_length charts/SPS losses/policy_loss losses/value_loss losses/entropy',
    { train: 'losses/policy_loss', reward: 'charts/episodic_return' },
  ],
  [
    'Spinning Up',
    'AverageEpRet StdEpRet MaxEpRet MinEpRet EpLen LossPi LossV',
    { reward: 'AverageEpRet', train: 'LossPi' },
  ],
  [
    'garage',
    'Average/AverageReturn Average/StdReturn Average/MaxReturn Average/AverageDiscountedReturn',
    { reward: 'Average/AverageReturn' },
  ],
  [
    'ML-Agents',
    'Environment/Cumulative_Reward Environment/Episode_Length Losses/Policy_Loss Losses/Value_Loss',
    { train: 'Losses/Policy_Loss', reward: 'Environment/Cumulative_Reward' },
  ],
  [
    'plain REINFORCE',
    'train/loss train/episode_reward',
    { train: 'train/loss', reward: 'train/episode_reward' },
  ],
  // Several networks, several tasks.
  ['CycleGAN', 'D_A G_A cycle_A idt_A', {}],
  ['DCGAN', 'Loss_D Loss_G D_x', { train: 'Loss_G' }],
  ['pix2pix', 'train/D_loss train/G_loss val/G_loss', { train: 'train/G_loss', val: 'val/G_loss' }],
  [
    'VAE',
    'train_loss train_recon_loss train_kl val_loss',
    { train: 'train_loss', val: 'val_loss' },
  ],
  [
    'multi-task',
    'train/seg_loss train/depth_loss val/seg_loss val/depth_loss',
    { train: 'train/seg_loss + train/depth_loss', val: 'val/seg_loss + val/depth_loss' },
  ],
  [
    'multi-task with a total',
    'train/total_loss train/seg_loss val/total_loss val/seg_loss',
    { train: 'train/total_loss', val: 'val/total_loss' },
  ],
  ['only a validation', 'val_loss', { val: 'val_loss' }],
  ['nothing that is judged', 'lr gpu_mem step_time', {}],
];

const valuesOf = (key: string): readonly number[] => {
  const { measure } = readNames([key]).get(key) ?? {};
  return Array.from({ length: 30 }, (_, i) =>
    measure === 'accuracy'
      ? 0.3 + 0.02 * i
      : measure === 'reward'
        ? i
        : 2 * Math.exp(-i / 10) + 0.1,
  );
};
const rolesOf = (keys: readonly string[]) =>
  findRoles(new Map(keys.map((key) => [key, byStep(key, valuesOf(key))])));
const keyOf = (choice: RoleChoice | null): string | undefined => choice?.series.key;

describe('roles by the names of', () => {
  test.each(SETS)('%s', (_program, keys, expected) => {
    const roles = rolesOf(keys.split(' '));
    expect({
      train: keyOf(roles.trainLoss),
      val: keyOf(roles.valLoss),
      trainAcc: keyOf(roles.trainAccuracy),
      valAcc: keyOf(roles.valAccuracy),
      reward: keyOf(roles.reward),
    }).toEqual({
      train: undefined,
      val: undefined,
      trainAcc: undefined,
      valAcc: undefined,
      reward: undefined,
      ...expected,
    });
  });

  test('at least 100 programs', () => {
    expect(new Set(SETS.map(([program]) => program)).size).toBe(SETS.length);
    expect(SETS.length).toBeGreaterThanOrEqual(100);
  });
});
