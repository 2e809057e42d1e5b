/**
 * Sends what a closed page has left in the store of its origin, from any page that opens the store: the notes name the services. Nothing
 * is opened where nothing was ever sent, and it ends when everything has arrived, or with the store.
 */
import { systemClock } from '../base/clock.ts';
import { isStoreError } from '../base/errors.ts';
import type { Store } from '../store/store.ts';
import { hasOutbox, pause } from './leadership.ts';
import { listSyncTargets, type SyncTarget } from './sync-notes.ts';
import { openTask } from './sync-storage.ts';

/** Until then a session of the page has opened an outbox of its own, if it has a service. */
const BEGIN_AFTER_MS = 3_000;
const LOOK_EVERY_MS = 2_000;

/** Sends in the background, with the key that `configurePersistence` has set, if any. Never rejects. */
export async function sendLeftovers(local: Store): Promise<void> {
  const { signal } = new AbortController();
  try {
    await pause(systemClock, BEGIN_AFTER_MS, signal);
    const targets = local.notes === undefined ? [] : await listSyncTargets(local.notes);
    await Promise.all(targets.map((target) => sendTo(local, target)));
  } catch {
    // The store was closed, or cannot be read: the next page that opens it tries again.
  }
}

async function sendTo(local: Store, target: SyncTarget): Promise<void> {
  // Somebody in this page sends already.
  if (hasOutbox(local.uri, target)) return;
  const { outbox } = openTask(local, target, {});
  try {
    for (;;) {
      const status = await outbox.sync?.synced({ timeoutMs: LOOK_EVERY_MS });
      if (status === undefined || status.pendingRuns === 0) return;
    }
  } catch (error) {
    if (!isStoreError(error)) throw error;
  } finally {
    await outbox.close();
  }
}
