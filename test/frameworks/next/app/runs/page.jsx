import { listRuns, openStorage } from 'quark-sdk';

export const dynamic = 'force-dynamic'; // ask at each request, not once at build

export default async function Runs() {
  const store = await openStorage(process.env.QUARK_DIR ?? 'quark-runs');
  try {
    const runs = await listRuns(store);
    return (
      <ul>
        {runs.map(({ run, effectiveStatus }) => (
          <li key={run.id}>
            {run.id}: {effectiveStatus}
          </li>
        ))}
      </ul>
    );
  } finally {
    await store.close();
  }
}
