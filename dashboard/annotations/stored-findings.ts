/** What a stored analysis says of steps of a run, for marks and bands: read in the worker, and only where something is stored. */
import type { Store } from 'quark-sdk';
import { findingsInWorker } from '../dropped/analysis.ts';
import type { RunFindings } from '../worker/run-analysis.ts';

const TABLES = ['alerts', 'phases'] as const;

/** The findings of a run; undefined where no analysis of it is stored. A page of a run without them asks for two listings and no code. */
export async function storedFindings(
  store: Store,
  runId: string,
): Promise<RunFindings | undefined> {
  const listed = await Promise.all(TABLES.map((table) => store.listSegments({ runId, table })));
  if (listed.every((segments) => segments.length === 0)) return undefined;
  return findingsInWorker(store, runId);
}
