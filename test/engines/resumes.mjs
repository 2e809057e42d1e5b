// Pages that are loaded again, and two tabs that resume a run at the same moment.
import { withBrowser, withProfile } from './browsers.mjs';

/** Time for two tabs to hear when they are to resume. */
const AGREED_MS = 500;

const text = (value) => JSON.stringify(value);
const countTo = (count) => Array.from({ length: count }, (_, step) => step);

/** The times of one engine, as a row of the table. */
function rowOf(version, what, times, refused) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN);
  return `| ${version} | ${what} | ${times.length} | ${refused} | ${at(0.5)} | ${at(1)} |`;
}

function checkSteps(found, resumes) {
  if (found.status !== 'completed') throw new Error(`the run is not complete: ${text(found)}`);
  if (found.resumeCount !== resumes)
    throw new Error(`resumed ${found.resumeCount} times instead of ${resumes}`);
  if (text(found.steps) !== text(countTo(resumes + 1)))
    throw new Error(`the steps are ${text(found.steps)}`);
}

/** Loads a page again and again; each time it resumes its run, with one attempt. */
export function reloadPages(engine, count, { ask, site, table }) {
  return withProfile(engine, (profile) =>
    withBrowser(engine, profile, async (browser) => {
      const tab = await browser.newTab(site.origin);
      const runId = await ask(tab, 'start()');
      const times = [];
      for (let i = 0; i < count; i++) {
        await tab.reload();
        const { refused, tookMs } = await ask(tab, `resume(${text(runId)})`);
        if (refused !== null)
          throw new Error(`reload ${i + 1} of ${count} was refused: ${refused}`);
        times.push(tookMs);
      }
      checkSteps(await ask(tab, 'end()'), count);
      table.push(rowOf(browser.version, 'page loaded again', times, 0));
      const late = times.filter((ms) => ms > 1000).length;
      return `${count} reloads, none refused, ${late} later than a second, at most ${Math.round(Math.max(...times))} ms`;
    }),
  );
}

/** Two tabs resume a run that a third has left, at the same moment: exactly one does, each time. */
export function resumeTogether(engine, count, { ask, site, table }) {
  return withProfile(engine, (profile) =>
    withBrowser(engine, profile, async (browser) => {
      const tabs = [await browser.newTab(site.origin), await browser.newTab(site.origin)];
      const first = await browser.newTab(site.origin);
      const runId = await ask(first, 'start()');
      await first.close();
      const times = [];
      const reasons = new Map();
      let winner;
      for (let i = 0; i < count; i++) {
        const at = Date.now() + AGREED_MS;
        for (const tab of tabs) await ask(tab, `plan(${text(runId)}, ${at})`);
        const answers = [];
        for (const tab of tabs) answers.push(await ask(tab, 'outcome()'));
        const won = answers.filter(({ refused }) => refused === null);
        if (won.length !== 1)
          throw new Error(`round ${i + 1} of ${count}: ${won.length} resumed: ${text(answers)}`);
        times.push(won[0].tookMs);
        const { refused } = answers.find((answer) => answer.refused !== null);
        reasons.set(refused, (reasons.get(refused) ?? 0) + 1);
        winner = answers.indexOf(won[0]);
        // Both pages leave: the run is over, and one of them may go on with it.
        if (i < count - 1) for (const tab of tabs) await tab.reload();
      }
      checkSteps(await ask(tabs[winner], 'end()'), count);
      table.push(rowOf(browser.version, 'two tabs at once', times, count));
      const why = [...reasons].map(([reason, times_]) => `${reason} ${times_}`).join(', ');
      return `${count} rounds, one resumed in each; the others: ${why}`;
    }),
  );
}
