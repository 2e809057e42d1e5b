/** What a service records in the audit log of requests that it refused. */
import type { Clock } from '../../base/clock.ts';
import { endpointAt } from '../../wire/route-paths.ts';
import type { Actor, AuditLog } from '../access/audit-log.ts';
import { hideKeys } from '../access/user-key.ts';
import { FairShares } from './fair-shares.ts';

/** Refused attempts of one user that are recorded at once, and each hour from then on. */
const REFUSALS = 60;

/** Records attempts that needed a key of scope `delete` or `admin`: so many a user that nobody fills the log with them. */
export class RefusalLog {
  readonly #audit: AuditLog;
  readonly #shares: FairShares;

  constructor(audit: AuditLog, clock: Pick<Clock, 'now'>) {
    this.#audit = audit;
    this.#shares = new FairShares(clock, REFUSALS / 3_600, REFUSALS);
  }

  /** Records the request if it was refused for its scope; does nothing about others. */
  async record(
    actor: Actor,
    { method, path }: { readonly method: string; readonly path: string },
  ): Promise<void> {
    const endpoint = endpointAt(path);
    const asked = endpoint?.methods.find((one) => one.method === method);
    if (endpoint === undefined || (asked?.scope !== 'delete' && asked?.scope !== 'admin')) return;
    if (this.#shares.take(actor.userId ?? '') > 0) return;
    const [, runId] = /\/runs\/([^/]{1,128})/.exec(path) ?? [];
    await this.#audit.record({
      ...actor,
      action: 'refused',
      target: { kind: 'route', id: `${method} ${endpoint.template}` },
      detail: { needed: asked.scope, ...(runId === undefined ? {} : { run_id: hideKeys(runId) }) },
    });
  }
}
