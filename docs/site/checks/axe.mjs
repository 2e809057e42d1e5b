// Every page under the rules of axe, in light and dark, and in the width of a phone. In the dark scheme only the colours differ, so only
// the rules about colours run there again.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const TABS = 2;
const WIDE = { width: 1360, height: 900 };
const PHONE = { width: 320, height: 700 };
const RULES = {
  light: {},
  dark: { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } },
};

/** What axe finds on the page as it is. */
async function violationsOf(page, options) {
  const found = await page.evaluate(
    (chosen) => globalThis.axe.run({ ...chosen, resultTypes: ['violations'] }),
    options,
  );
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ target }) => `${id}: ${target.join(' ')}`),
  );
}

/** What of the page is wider than a phone. */
const overflowOf = (page) =>
  page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const wide = [...document.querySelectorAll('main *')].find(
      (element) => element.getBoundingClientRect().right > width + 1,
    );
    return [`wider than ${width} pixels: ${wide?.outerHTML.slice(0, 120)}`];
  });

async function problemsOf(page, url, axe) {
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.goto(url);
  await page.evaluate(axe);
  const problems = await violationsOf(page, RULES.light);
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const problem of await violationsOf(page, RULES.dark)) problems.push(`dark: ${problem}`);
  await page.setViewportSize(PHONE);
  return [...problems, ...(await overflowOf(page))];
}

/** Checks all pages of a folder. */
export async function checkAxe(browser, folder, names) {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const queue = names.values();
  const problems = [];
  let passed = 0;
  const work = async () => {
    const page = await browser.newPage();
    for (const name of queue) {
      const found = await problemsOf(page, pathToFileURL(join(folder, name)).href, axe);
      problems.push(...found.map((problem) => `${name}: ${problem}`));
      if (found.length === 0) passed += 1;
    }
    await page.close();
  };
  await Promise.all(Array.from({ length: TABS }, work));
  return { passed, problems };
}
