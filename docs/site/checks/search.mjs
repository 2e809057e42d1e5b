// The search finds what is known to be there, from the folder and from a server, and its keys work.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What somebody looks for, and a page that has to be among the first results. */
const KNOWN = [
  ['quotas', /^(?:service|http|operations)/],
  ['lease', /^(?:recording|glossary|sync|http|concepts)/],
  ['restore backup', /^(?:operations|cli|guides)/],
  ['logColumns', /^reference\/quark-sdk\/MetricsLogger\.html#logColumns$/],
  ['tensorbord', /./],
];
const FIRST = 5;
const START = 'decisions/index.html';

async function foundFor(page, words) {
  const field = page.locator('dialog.search input');
  await field.fill(words);
  await page.waitForFunction(() => document.querySelector('.search .sum').textContent !== '');
  return page.$$eval('.search [role=option] a', (links) => links.map(({ href }) => href));
}

/** Asks from one address; gives the problems. */
async function askFrom(page, home) {
  const problems = [];
  await page.goto(home + START);
  await page.keyboard.press('/');
  await page.waitForSelector('dialog.search[open]');
  for (const [words, wanted] of KNOWN) {
    const found = await foundFor(page, words);
    const first = found.slice(0, FIRST).map((href) => href.slice(home.length));
    if (!first.some((address) => wanted.test(address)))
      problems.push(`"${words}" finds ${first.join(', ') || 'nothing'}, and no ${wanted}`);
  }
  await foundFor(page, KNOWN[0][0]);
  await page.keyboard.press('ArrowDown');
  const [, second] = await page.$$eval('.search [role=option] a', (links) =>
    links.map(({ href }) => href),
  );
  await page.keyboard.press('Enter');
  await page.waitForURL(second);
  return problems;
}

/** Checks the search of a folder and of a server of it. */
export async function checkSearch(browser, folder, url) {
  const problems = [];
  let passed = 0;
  for (const home of [pathToFileURL(join(folder, '/')).href, url]) {
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('requestfailed', (request) => errors.push(`${request.url()} does not load`));
    const found = [...(await askFrom(page, home)), ...errors];
    problems.push(...found.map((problem) => `${home}: ${problem}`));
    passed += KNOWN.length + 1 - Math.min(found.length, KNOWN.length + 1);
    await page.close();
  }
  return { passed, problems };
}
