/** Reinforcement learning: tables of Stable-Baselines and OpenAI baselines, Monitor files, results of Ray. */
import { curve, lines } from './curves.ts';
import { entriesOf } from './entry.ts';

const REWARD = curve(40, { from: 20, to: 480, digits: 1, noise: 0.05 });
const FALLING = curve(40, { from: 480, to: 60, digits: 1, noise: 0.03, seed: 9 });
const LOSS = curve(40, { from: 1.5, to: 0.2, digits: 4, seed: 3 });
const LAST = REWARD.at(-1) ?? 0;

/** A table as Stable-Baselines3 draws it: sections with their keys set in. */
function box(
  sections: Readonly<Record<string, Readonly<Record<string, number | string>>>>,
): string {
  const rows = Object.entries(sections).flatMap(([section, values]) => [
    ...(section === '' ? [] : [[`${section}/`, '']]),
    ...Object.entries(values).map(([key, value]) => [
      section === '' ? key : `   ${key}`,
      String(value),
    ]),
  ]);
  const [left = 0, right = 0] = [0, 1].map((i) =>
    Math.max(...rows.map((row) => row[i]?.length ?? 0)),
  );
  const border = '-'.repeat(left + right + 7);
  const drawn = rows.map(
    ([key = '', value = '']) => `| ${key.padEnd(left)} | ${value.padEnd(right)} |`,
  );
  return [border, ...drawn, border].join('\n');
}

const ppo = (i: number, reward = REWARD): string =>
  box({
    rollout: { ep_len_mean: 22.1, ep_rew_mean: reward[i] ?? 0 },
    time: { fps: 870, iterations: i + 1, time_elapsed: i * 2, total_timesteps: (i + 1) * 2048 },
    ...(i === 0
      ? {}
      : {
          train: {
            approx_kl: 0.009,
            clip_fraction: 0.12,
            entropy_loss: -0.6,
            explained_variance: 0.4,
            learning_rate: 0.0003,
            loss: LOSS[i] ?? 0,
            n_updates: i * 10,
            policy_gradient_loss: -0.01,
            value_loss: 12.5,
          },
        }),
  });

export const reinforcement = [
  ...entriesOf('text_log', [
    {
      name: 'PPO of Stable-Baselines3',
      make: () => ({
        'ppo.log': `Using cuda device\nWrapping the env with a \`Monitor\` wrapper\n${lines(40, (i) => ppo(i))}`,
      }),
      series: 2 + 3 + 9,
      values: 40 * 5 + 39 * 9,
      last: { 'rollout/ep_rew_mean': LAST, 'train/value_loss': 12.5 },
      at: { 'rollout/ep_rew_mean': 81_920 },
      says: ['training loss: train/loss', 'validation loss: none', 'reward: rollout/ep_rew_mean'],
    },
    {
      name: 'PPO whose reward falls',
      make: () => ({ 'ppo.log': lines(40, (i) => ppo(i, FALLING)) }),
      series: 14,
      values: 551,
      last: { 'rollout/ep_rew_mean': FALLING.at(-1) ?? 0 },
      says: ['training loss: train/loss', 'validation loss: none', 'reward: rollout/ep_rew_mean'],
    },
    {
      name: 'PPO with CRLF, cut off within a table',
      make: () => ({
        'ppo.log': lines(41, (i) => ppo(i))
          .replaceAll('\n', '\r\n')
          .slice(0, -300),
      }),
      series: 14,
      values: 551,
      last: { 'rollout/ep_rew_mean': LAST },
      says: ['training loss: train/loss', 'validation loss: none', 'reward: rollout/ep_rew_mean'],
    },
    {
      name: 'evaluations between the tables',
      make: () => ({
        'sac.log': lines(
          10,
          (i) =>
            `Eval num_timesteps=${(i + 1) * 1000}, episode_reward=${REWARD[i]} +/- 4.33\nEpisode length: 200.00 +/- 0.00\n${box({ eval: { mean_ep_length: 200, mean_reward: REWARD[i] ?? 0 }, time: { total_timesteps: (i + 1) * 1000 } })}\nNew best mean reward!`,
        ),
      }),
      series: 2,
      values: 20,
      last: { 'val/mean_reward': REWARD[9] ?? 0 },
      at: { 'val/mean_reward': 10_000 },
      says: ['training loss: none', 'validation loss: none', 'reward: val/mean_reward'],
    },
    {
      name: 'two trainings in one file',
      make: () => ({ 'two.log': lines(20, (i) => ppo(i % 10)) }),
      runs: 2,
      series: 28,
      values: 2 * (10 * 5 + 9 * 9),
      at: { 'rollout/ep_rew_mean': 20_480 },
      says: ['training loss: train/loss', 'validation loss: none', 'reward: rollout/ep_rew_mean'],
    },
    {
      name: 'DQN with episodes, in the colours of a terminal',
      make: () => ({
        'dqn.txt': lines(
          40,
          (i) =>
            `\u001b[36m${box({
              rollout: { ep_rew_mean: REWARD[i] ?? 0, exploration_rate: 0.05 },
              time: { episodes: i * 4, fps: 1000, total_timesteps: (i + 1) * 400 },
              train: { learning_rate: 0.0001, loss: LOSS[i] ?? 0, n_updates: i * 100 },
            }).replaceAll('\n', '\u001b[0m\n\u001b[36m')}\u001b[0m`,
        ),
      }),
      series: 7,
      values: 280,
      last: { 'train/loss': LOSS.at(-1) ?? 0 },
      at: { 'train/loss': 16_000 },
      says: ['training loss: train/loss', 'validation loss: none', 'reward: rollout/ep_rew_mean'],
    },
    {
      name: 'OpenAI baselines without sections',
      make: () => ({
        'ppo2.log': `Logging to /tmp/openai\n${lines(40, (i) => box({ '': { approxkl: 0.002, eplenmean: 200, eprewmean: REWARD[i] ?? 0, fps: 1200, nupdates: i + 1, policy_entropy: 0.65, total_timesteps: (i + 1) * 128 } }))}`,
      }),
      series: 6,
      values: 240,
      last: { eprewmean: LAST },
      at: { eprewmean: 5120 },
      says: ['training loss: none', 'validation loss: none', 'reward: eprewmean'],
    },
    {
      name: 'Spinning Up',
      make: () => ({
        'spinup.log': lines(40, (i) =>
          box({
            '': {
              Epoch: i,
              AverageEpRet: REWARD[i] ?? 0,
              StdEpRet: 3.5,
              LossPi: -0.01,
              TotalEnvInteracts: (i + 1) * 4000,
              Time: i * 3.1,
            },
          }),
        ),
      }),
      series: 4,
      values: 160,
      last: { AverageEpRet: LAST },
      at: { AverageEpRet: 160_000 },
      says: ['training loss: LossPi', 'validation loss: none', 'reward: AverageEpRet'],
    },
  ]),
  ...entriesOf('csv', [
    {
      name: 'progress.csv of Stable-Baselines3',
      make: () => ({
        'logs/progress.csv': `rollout/ep_len_mean,rollout/ep_rew_mean,time/fps,time/total_timesteps,train/loss\n${lines(40, (i) => `22.1,${REWARD[i]},870,${(i + 1) * 2048},${i === 0 ? '' : LOSS[i]}`)}`,
      }),
      series: 4,
      values: 40 * 3 + 39,
      last: { 'rollout/ep_rew_mean': LAST },
      at: { 'train/loss': 81_920 },
      says: ['training loss: train/loss', 'validation loss: none', 'reward: rollout/ep_rew_mean'],
    },
    {
      name: 'progress.csv of OpenAI baselines',
      make: () => ({
        'progress.csv': `eprewmean,misc/total_timesteps,loss/value_loss\n${lines(40, (i) => `${REWARD[i]},${(i + 1) * 128},${LOSS[i]}`)}`,
      }),
      series: 2,
      values: 80,
      at: { eprewmean: 5120 },
      says: ['training loss: loss/value_loss', 'validation loss: none', 'reward: eprewmean'],
    },
    {
      name: 'progress.txt of Spinning Up',
      make: () => ({
        'progress.txt': `Epoch\tAverageEpRet\tTotalEnvInteracts\tLossV\n${lines(40, (i) => `${i}\t${REWARD[i]}\t${(i + 1) * 4000}\t${LOSS[i]}`)}`,
      }),
      series: 2,
      values: 80,
      last: { AverageEpRet: LAST },
      at: { AverageEpRet: 160_000 },
      says: ['training loss: LossV', 'validation loss: none', 'reward: AverageEpRet'],
    },
  ]),
  ...entriesOf('json_lines', [
    {
      name: 'progress.json of Stable-Baselines3',
      make: () => ({
        'progress.json': lines(40, (i) =>
          JSON.stringify({
            'rollout/ep_rew_mean': REWARD[i],
            'time/total_timesteps': (i + 1) * 2048,
            'train/loss': LOSS[i],
          }),
        ),
      }),
      series: 2,
      values: 80,
      at: { 'rollout/ep_rew_mean': 81_920 },
      says: ['training loss: train/loss', 'validation loss: none', 'reward: rollout/ep_rew_mean'],
    },
  ]),
  ...entriesOf('monitor', [
    {
      name: 'one environment',
      make: () => ({
        'CartPole_1/monitor.csv': `#{"t_start": 1609459200.5, "env_id": "CartPole-v1"}\nr,l,t\n${lines(40, (i) => `${REWARD[i]},100,${i * 1.5}`)}`,
      }),
      series: 3,
      values: 120,
      last: { 'rollout/ep_reward': LAST },
      at: { 'rollout/ep_reward': 4000 },
      says: ['training loss: none', 'validation loss: none', 'reward: rollout/ep_reward'],
    },
    {
      name: 'four environments in a folder, one after another in time',
      make: () =>
        Object.fromEntries(
          [0, 1, 2, 3].map((env) => [
            `logs/${env}.monitor.csv`,
            `#{"t_start": 1609459200.5, "env_id": "CartPole-v1"}\nr,l,t\n${lines(10, (i) => `${REWARD[i * 4 + env]},50,${i * 4 + env}`)}`,
          ]),
        ),
      series: 3,
      values: 120,
      last: { 'rollout/ep_reward': LAST },
      at: { 'rollout/ep_reward': 2000 },
      says: ['training loss: none', 'validation loss: none', 'reward: rollout/ep_reward'],
    },
    {
      name: 'with fields of the environment, text among them, and the last line cut off',
      make: () => ({
        'monitor.csv': `# {"t_start": 1609459200.5, "gym_version": "0.10.5", "env_id": null}\nr,l,t,is_success,terrain\n${lines(20, (i) => `${REWARD[i]},100,${i},1.0,hill`)}17.5,1`,
      }),
      series: 4,
      values: 80,
      problems: [/line 23 It is no row of an episode/],
      says: ['training loss: none', 'validation loss: none', 'reward: rollout/ep_reward'],
    },
  ]),
  ...entriesOf('ray', [
    {
      name: 'RLlib before the new stack: result.json beside params.json and progress.csv',
      make: () => ({
        'PPO/PPO_CartPole_0/result.json': lines(40, (i) => JSON.stringify(oldResult(i))),
        'PPO/PPO_CartPole_0/params.json': '{"lr": 0.0003, "env": "CartPole-v1"}',
        'PPO/PPO_CartPole_0/progress.csv': `episode_reward_mean,training_iteration\n${lines(40, (i) => `${REWARD[i]},${i + 1}`)}`,
      }),
      series: 8,
      values: 320,
      last: {
        episode_reward_mean: LAST,
        'info/learner/default_policy/learner_stats/total_loss': LOSS.at(-1) ?? 0,
      },
      at: { episode_reward_mean: 160_000 },
      says: [
        'training loss: info/learner/default_policy/learner_stats/total_loss',
        'validation loss: none',
        'reward: episode_reward_mean',
      ],
    },
    {
      name: 'RLlib of the new stack',
      make: () => ({
        'PPO_x/result.json': lines(40, (i) =>
          JSON.stringify({
            env_runners: {
              episode_return_mean: REWARD[i],
              num_env_steps_sampled_lifetime: (i + 1) * 4000,
            },
            learners: { default_policy: { total_loss: LOSS[i], vf_loss: 0.5 } },
            training_iteration: i + 1,
            trial_id: 'a1b2c',
            timestamp: 1_700_000_000 + i * 10,
            time_total_s: i * 10,
            config: { lr: 0.0003 },
          }),
        ),
      }),
      series: 6,
      values: 240,
      last: { 'env_runners/episode_return_mean': LAST },
      at: { 'env_runners/episode_return_mean': 160_000 },
      says: [
        'training loss: learners/default_policy/total_loss',
        'validation loss: none',
        'reward: env_runners/episode_return_mean',
      ],
    },
    {
      name: 'Ray Tune around a training with a loss; it ended in an error',
      make: () => ({
        'trial_1/result.json': lines(20, (i) =>
          JSON.stringify({
            loss: LOSS[i],
            val_loss: LOSS[i],
            training_iteration: i + 1,
            trial_id: 'a1',
            time_total_s: i,
            done: false,
            config: { lr: 0.1 },
          }),
        ),
        'trial_1/error.txt':
          'Traceback (most recent call last):\nRuntimeError: CUDA out of memory\n',
      }),
      series: 3,
      values: 60,
      last: { 'train/loss': LOSS[19] ?? 0 },
      at: { 'train/loss': 20 },
      says: ['training loss: train/loss', 'validation loss: val/loss'],
    },
    {
      name: 'result.json with NaN, cut off in the last row',
      make: () => ({
        'trial_2/result.json': `{"episode_reward_mean": NaN, "timesteps_total": 4000, "training_iteration": 1, "trial_id": "x", "time_total_s": 1}\n{"episode_reward_mean": 21.5, "timesteps_total": 8000, "training_iteration": 2, "trial_id": "x", "time_total_s": 2}\n{"episode_rew`,
      }),
      series: 3,
      values: 6,
      last: { episode_reward_mean: 21.5 },
      at: { episode_reward_mean: 8000 },
      problems: [/line 3/],
      says: ['training loss: none', 'validation loss: none', 'reward: episode_reward_mean'],
    },
  ]),
];

function oldResult(i: number): object {
  return {
    episode_reward_mean: REWARD[i],
    episode_len_mean: 200,
    episodes_this_iter: 20,
    timesteps_total: (i + 1) * 4000,
    training_iteration: i + 1,
    info: {
      learner: { default_policy: { learner_stats: { total_loss: LOSS[i], kl: 0.01 } } },
    },
    hist_stats: { episode_reward: [1, 2, 3] },
    experiment_id: 'e',
    date: '2021-01-01_00-00-00',
    timestamp: 1_609_459_200 + i * 10,
    time_this_iter_s: 9.5,
    time_total_s: i * 10,
    pid: 4242,
    hostname: 'node',
    node_ip: '10.0.0.1',
    config: { lr: 0.0003 },
    done: false,
  };
}
