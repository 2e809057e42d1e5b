/** Roles that somebody gave to metrics of a run, remembered with it. */
import type { RunReader } from '../../read/run-reader.ts';
import {
  checkRoleKeys,
  rolesAsStored,
  rolesOfRun,
  type AskedRoles,
} from '../../records/run-roles.ts';
import type { Store } from '../../store/store.ts';
import { changeRun } from '../../session/run-lifecycle.ts';

/** Replaces the roles that a run remembers. @throws {QuarkError} `invalid_input` for a metric that the run does not have */
export async function replaceRoles(
  reader: RunReader,
  roles: AskedRoles,
  nowMs: number,
): Promise<void> {
  checkRoleKeys('roles', roles, await reader.metricKeys());
  const { run, store } = reader;
  await changeRun(store, run.id, nowMs, ({ environment }) => {
    const { roles: _, ...others } = environment;
    const stored = rolesAsStored(roles);
    const isKnown =
      JSON.stringify(stored) === JSON.stringify(rolesAsStored(rolesOfRun(environment)));
    return isKnown ? undefined : { environment: { ...others, ...stored } };
  });
}

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
