import { listRuns, openStorage } from 'quark-sdk';

export async function load() {
  const store = await openStorage(process.env.QUARK_DIR ?? 'quark-runs');
  try {
    const runs = await listRuns(store);
    return { runs: runs.map(({ run, effectiveStatus }) => ({ id: run.id, effectiveStatus })) };
  } finally {
    await store.close();
  }
}
