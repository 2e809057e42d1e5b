// Programs that learn by trying: a policy gradient on a pole, Q-learning on a grid, an actor and a critic in a corridor. Their outcome
// is what they score in the end, as a loss: the share of the best possible that they miss.
import { faults } from './faults.mjs';

const adam = (rate) => ({ kind: 'adam', rate });

/** Where the rewards are turned round by mistake, and the agent learns to lose. */
const falling = {
  id: 'learns-to-lose',
  harm: 'metric',
  layer: null,
  o: { rewardSign: -1 },
  causes: ['reward_decline'],
  accepted: ['reward_decline', 'loss_divergence', 'loss_not_decreasing'],
};

/** A pole on a cart, as in the textbook; an episode lasts until it falls, or 60 steps. */
class Pole {
  constructor(kit) {
    this.kit = kit;
  }

  reset() {
    const small = () => 0.1 * (this.kit.random() - 0.5);
    this.state = [small(), small(), small(), small()];
    return this.state;
  }

  step(isRight) {
    let [x, speed, angle, turn] = this.state;
    const force = isRight ? 10 : -10;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const push = (force + 0.05 * turn * turn * sin) / 1.1;
    const fall = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - (0.1 * cos * cos) / 1.1));
    const pull = push - (0.05 * fall * cos) / 1.1;
    x += 0.02 * speed;
    speed += 0.02 * pull;
    angle += 0.02 * turn;
    turn += 0.02 * fall;
    this.state = [x, speed, angle, turn];
    return Math.abs(x) > 2.4 || Math.abs(angle) > 0.21;
  }
}

/** Returns that are discounted backwards, and what they are beside their mean. */
function discounted(rewards, rate) {
  let ahead = 0;
  return rewards
    .toReversed()
    .map((reward) => (ahead = reward + rate * ahead))
    .toReversed();
}

function centred(values) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const std = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length) || 1;
  return values.map((value) => (value - mean) / std);
}

const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;

export const CONTROL = [
  {
    name: 'policy-gradient-pole',
    o: { batchSize: 5, steps: 70, optimizer: adam(0.02) },
    data: () => null,
    async train(kit) {
      const { o, tf } = kit;
      const policy = tf.sequential({
        layers: [
          kit.dense(8, { name: 'hidden', activation: 'elu', inputShape: [4] }),
          kit.dense(1, { name: 'logit', isOutput: true }),
        ],
      });
      const optimizer = kit.optimizer();
      const pole = new Pole(kit);
      const play = () => {
        const [states, actions] = [[], []];
        let state = pole.reset();
        for (let t = 0; t < 60; t += 1) {
          const logit = tf.tidy(() => policy.apply(tf.tensor2d([state])).dataSync()[0]);
          const isRight = kit.random() < 1 / (1 + Math.exp(-logit));
          states.push(state);
          actions.push(isRight ? 1 : 0);
          if (pole.step(isRight)) break;
          state = pole.state;
        }
        return { states, actions };
      };
      const lengths = [];
      await kit.loop({
        models: [{ model: policy, optimizer }],
        steps: o.steps,
        stepsPerEpoch: 10,
        step: () => {
          const games = Array.from({ length: o.batchSize }, play);
          const returns = centred(
            games.flatMap(({ states }) =>
              discounted(
                states.map(() => o.rewardSign ?? 1),
                0.95,
              ),
            ),
          );
          const states = games.flatMap((game) => game.states);
          const actions = games.flatMap((game) => game.actions);
          const loss = kit.minimize(optimizer, () => {
            const logits = policy.apply(tf.tensor2d(states), { training: true }).reshape([-1]);
            const each = tf.losses.sigmoidCrossEntropy(
              tf.tensor1d(actions),
              logits,
              undefined,
              0,
              0,
            );
            return each.mul(tf.tensor1d(returns)).mean();
          });
          lengths.push(mean(games.map((game) => game.states.length)));
          return { loss, metrics: { 'train/mean_return': lengths.at(-1) } };
        },
      });
      return { valLoss: 1.05 - mean(lengths.slice(-10)) / 60, valAccuracy: null };
    },
    faults: [falling, ...faults('rate-low', 'rate-high')],
  },
  {
    name: 'dqn-grid',
    o: { batchSize: 23, steps: 260, optimizer: adam(0.005) },
    data: () => null,
    async train(kit) {
      const { o, tf } = kit;
      // A field of 4 by 4; from the upper left to the lower right, -0.05 a move and 1 at the goal.
      const network = (name) =>
        tf.sequential({
          layers: [
            kit.dense(24, { name: `${name}_hidden`, activation: 'relu', inputShape: [16] }),
            kit.dense(4, { name: `${name}_values`, isOutput: true }),
          ],
        });
      const [online, target] = [network('online'), network('target')];
      target.setWeights(online.getWeights());
      const optimizer = kit.optimizer();
      const coded = (cells) => tf.oneHot(tf.tensor1d(cells, 'int32'), 16).toFloat();
      const move = (cell, action) => {
        const row = Math.min(3, Math.max(0, Math.floor(cell / 4) + [-1, 0, 1, 0][action]));
        const column = Math.min(3, Math.max(0, (cell % 4) + [0, 1, 0, -1][action]));
        return row * 4 + column;
      };
      const best = (cell) =>
        tf.tidy(
          () =>
            online
              .apply(coded([cell]))
              .argMax(-1)
              .dataSync()[0],
        );
      const memory = [];
      const scores = [];
      let [cell, moves] = [0, 0];
      await kit.loop({
        models: [{ model: online, optimizer }],
        steps: o.steps,
        stepsPerEpoch: 20,
        step: (_, at) => {
          const curiosity = Math.max(0.1, 1 - at / (0.6 * o.steps));
          for (let i = 0; i < 6; i += 1) {
            const action = kit.random() < curiosity ? Math.floor(kit.random() * 4) : best(cell);
            const next = move(cell, action);
            moves += 1;
            const isEnd = next === 15 || moves >= 25;
            const reward = (o.rewardSign ?? 1) * (next === 15 ? 1 : -0.05);
            memory.push({ cell, action, next, reward, isEnd: next === 15 });
            if (isEnd) scores.push(next === 15 ? 1 - 0.05 * (moves - 1) : -0.05 * moves);
            [cell, moves] = isEnd ? [0, 0] : [next, moves];
          }
          const batch = Array.from(
            { length: o.batchSize },
            () => memory[Math.floor(kit.random() * memory.length)],
          );
          const ahead = tf.tidy(() =>
            target
              .apply(coded(batch.map((one) => one.next)))
              .max(-1)
              .dataSync(),
          );
          const goals = batch.map(({ reward, isEnd }, i) => reward + (isEnd ? 0 : 0.9 * ahead[i]));
          const loss = kit.minimize(
            optimizer,
            () => {
              const values = online.apply(coded(batch.map((one) => one.cell)), { training: true });
              const chosen = values
                .mul(
                  tf.oneHot(
                    tf.tensor1d(
                      batch.map((one) => one.action),
                      'int32',
                    ),
                    4,
                  ),
                )
                .sum(-1);
              return tf.losses.huberLoss(tf.tensor1d(goals), chosen).mean();
            },
            online.trainableWeights.map(({ val }) => val),
          );
          if (at % 15 === 14) target.setWeights(online.getWeights());
          return { loss, metrics: { 'train/episode_return': scores.at(-1) ?? -1.25 } };
        },
      });
      let at = 0;
      let score = 0;
      for (let i = 0; i < 25 && at !== 15; i += 1) {
        at = move(at, best(at));
        score += at === 15 ? 1 : -0.05;
      }
      return {
        valLoss: 1 - score + 0.1 * mean(scores.slice(-8).map((s) => 1 - s)),
        valAccuracy: null,
      };
    },
    faults: [falling, ...faults('rate-low', 'rate-high', 'units-dead')],
  },
  {
    name: 'actor-critic-corridor',
    o: { batchSize: 9, steps: 140, optimizer: adam(0.01) },
    data: () => null,
    async train(kit) {
      const { o, tf } = kit;
      // Nine cells in a row: to the right end, with a reward there and a little less for every step.
      const input = tf.input({ shape: [9] });
      const body = kit.dense(16, { name: 'body', activation: 'tanh' }).apply(input);
      const actor = kit
        .dense(2, { name: 'actor', activation: 'softmax', isOutput: true })
        .apply(body);
      const critic = kit.dense(1, { name: 'critic' }).apply(body);
      const model = tf.model({ inputs: input, outputs: [actor, critic] });
      const optimizer = kit.optimizer();
      const coded = (cells) => tf.oneHot(tf.tensor1d(cells, 'int32'), 9).toFloat();
      const totals = [];
      await kit.loop({
        models: [{ model, optimizer }],
        steps: o.steps,
        stepsPerEpoch: 20,
        step: () => {
          const [cells, actions, rewards] = [[], [], []];
          let cell = 3;
          for (let t = 0; t < 3 * o.batchSize && cell < 8; t += 1) {
            const chance = tf.tidy(() => model.apply(coded([cell]))[0].dataSync()[1]);
            const isRight = kit.random() < chance;
            cells.push(cell);
            actions.push(isRight ? 1 : 0);
            cell = Math.max(0, cell + (isRight ? 1 : -1));
            rewards.push(cell === 8 ? 1 : -0.04);
          }
          totals.push(rewards.reduce((a, b) => a + b, 0));
          const goals = discounted(
            rewards.map((reward) => (o.rewardSign ?? 1) * reward),
            0.95,
          );
          const loss = kit.minimize(optimizer, () => {
            const [chances, values] = model.apply(coded(cells), { training: true });
            const guess = values.reshape([-1]);
            const goal = tf.tensor1d(goals);
            const advantage = tf.tensor1d(goal.sub(guess).dataSync());
            const chosen = chances
              .mul(tf.oneHot(tf.tensor1d(actions, 'int32'), 2))
              .sum(-1)
              .add(1e-8)
              .log();
            return chosen.mul(advantage).mean().neg().add(goal.sub(guess).square().mean().mul(0.5));
          });
          return { loss, metrics: { 'train/episode_reward': totals.at(-1) } };
        },
      });
      return { valLoss: 1.1 - mean(totals.slice(-20)), valAccuracy: null };
    },
    faults: [falling, ...faults('rate-low', 'rate-high')],
  },
];
