/** A page whose browser can be killed: its server, the browser, and the profile, which stays until the end of the test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MortalBrowser } from './mortal-browser.ts';
import { startPageServer } from './page-server.ts';

export type MortalPage = {
  readonly origin: string;
  readonly browser: MortalBrowser;
  /** A folder. */
  readonly profile: string;
  close(): Promise<void>;
};

/** Serves the page that runs the script `entry`, a path from the root of the repository. */
export async function openMortalPage(entry: string): Promise<MortalPage> {
  const server = await startPageServer(entry);
  const profile = await mkdtemp(join(tmpdir(), 'quark-profile-'));
  const browser = new MortalBrowser(profile);
  return {
    origin: server.origin,
    browser,
    profile,
    close: async () => {
      await browser.kill();
      await server.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
