/** What tests of the installed package in a browser share: one tarball, one browser, projects and servers that are gone in the end. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Browser } from 'playwright';
import { afterAll, beforeAll } from 'vitest';
import { Consumer, launchBrowser, packTarball, StaticServer } from './consumer.ts';

/** Made before the tests of a file, ended after them. */
export interface Workshop {
  readonly browser: Browser;
  /** A project of these files. */
  consumer(files: Readonly<Record<string, string>>): Consumer;
  /** A server of a folder, which does not have what is hidden. */
  serve(
    root: string,
    hidden?: RegExp,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly url: string; readonly server: StaticServer }>;
}

/** A workshop for the tests of a file; called at its top. */
export function workshop(): Workshop {
  let made: { readonly tarball: string; readonly browser: Browser } | undefined;
  const cleanups: (() => void | Promise<void>)[] = [];
  const parts = (): { readonly tarball: string; readonly browser: Browser } => {
    if (made === undefined) throw new Error('Tarball and browser are there within tests only.');
    return made;
  };
  beforeAll(async () => {
    const tarball = packTarball();
    cleanups.push(() => rmSync(dirname(tarball), { recursive: true, force: true }));
    const browser = await launchBrowser();
    cleanups.push(() => browser.close());
    made = { tarball, browser };
  });
  afterAll(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });
  return {
    get browser() {
      return parts().browser;
    },
    consumer(files) {
      const project = new Consumer(parts().tarball, files);
      cleanups.push(() => project.remove());
      return project;
    },
    async serve(root, hidden, headers = {}) {
      const server = new StaticServer(root, hidden, headers);
      cleanups.push(() => server.close());
      return { url: await server.listen(), server };
    },
  };
}
