/** A page to be killed: works on the IndexedDB store and tells the server what is safe. */
import { openIdbStorage } from '../../src/store/idb-store.ts';
import { inspect, prepareRun, workForever } from './workload.ts';

const NAME = 'idb:kill';

declare global {
  interface Window {
    quarkKill: {
      /** Begins to work; does not return. */
      work(writerId: string): void;
      /** What is wrong, given what was acknowledged. */
      inspect(acknowledged: readonly string[]): Promise<string[]>;
    };
  }
}

window.quarkKill = {
  work(writerId) {
    const run = async (): Promise<void> => {
      const store = await openIdbStorage(NAME);
      await prepareRun(store).catch(() => undefined);
      await workForever(store, writerId, (line) => console.log(line));
    };
    run().catch((error: unknown) => console.log(`failed ${String(error)}`));
  },
  async inspect(acknowledged) {
    const store = await openIdbStorage(NAME);
    await prepareRun(store);
    const wrong = await inspect(store, acknowledged);
    await store.close();
    return wrong;
  },
};
