/** Roles that somebody gave to metrics of a run, remembered with it. */
import { rolesAsStored, rolesOfRun, type AskedRoles } from '../../records/run-roles.ts';
import type { Store } from '../../store/store.ts';
import { changeRun } from '../../session/run-lifecycle.ts';

/** Adds roles to those that a run remembers; nothing is written where it has them. */
export async function rememberRoles(
  store: Store,
  runId: string,
  roles: AskedRoles,
  nowMs: number,
): Promise<void> {
  if (Object.keys(roles).length === 0) return;
  await changeRun(store, runId, nowMs, ({ environment }) => {
    const before = rolesOfRun(environment);
    const stored = rolesAsStored({ ...before, ...roles });
    const isKnown = JSON.stringify(stored) === JSON.stringify(rolesAsStored(before));
    return isKnown ? undefined : { environment: { ...environment, ...stored } };
  });
}
