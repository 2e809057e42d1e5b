/** The processes of a siege beside the service: each takes a job from its parent and says what came of it. */
import { attack, work, type AttackPlan, type WorkPlan } from './attack.ts';
import { abortUploads, floodAndLeave, leaveEarly, type LeavingPlan } from './leaving.ts';
import { askOften, type AskPlan } from './many-keys.ts';
import { doStep, type StepPlan } from './powercut/recording.ts';
import { noise } from './scene.ts';
import { everyRoute } from './routes.ts';
import { ask } from './service.ts';
import { holdSlowly, type SlowPlan } from './slow.ts';
import { random } from '../../test/support/tensors.ts';

/** What a parent may ask for. */
export type Job =
  | { readonly kind: 'leave'; readonly plan: Omit<LeavingPlan, 'routes'>; readonly sha256: string }
  | {
      readonly kind: 'abort';
      readonly plan: Omit<LeavingPlan, 'routes' | 'atOnce'>;
      readonly size: number;
      readonly floods: number;
    }
  | { readonly kind: 'attack'; readonly plan: AttackPlan }
  | { readonly kind: 'work'; readonly plan: WorkPlan }
  | { readonly kind: 'slow'; readonly plan: SlowPlan }
  | { readonly kind: 'often'; readonly plan: AskPlan }
  | { readonly kind: 'record'; readonly plan: StepPlan };

process.on('message', (job: Job) => {
  void answer(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) =>
      process.send?.({ failed: String(error instanceof Error ? error.stack : error) }),
  );
});
process.once('disconnect', () => process.exit());

async function answer(job: Job): Promise<unknown> {
  switch (job.kind) {
    case 'leave': {
      const key = job.plan.users[0]?.key ?? '';
      const description = await ask(job.plan.port, '/api/v1/openapi.json', {
        headers: { authorization: `Bearer ${key}` },
      });
      return leaveEarly({
        ...job.plan,
        routes: everyRoute(JSON.parse(description.text), job.sha256),
      });
    }
    case 'abort':
      await abortUploads({ ...job.plan, bytes: noise(random(job.plan.seed), job.size) });
      return floodAndLeave({ ...job.plan, count: job.floods });
    case 'attack':
      return attack(job.plan);
    case 'work':
      return work(job.plan);
    case 'slow':
      return holdSlowly(job.plan);
    case 'often':
      return askOften(job.plan);
    case 'record':
      return doStep(job.plan);
  }
}
