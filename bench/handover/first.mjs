// What the first probes of a fresh process block: each step by the clock, as JSON on one line. Run by bench/handover.mjs, in a process each.
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { openSteps } from './step.mjs';

const [folder] = process.argv.slice(2);
const part = (name) => import(pathToFileURL(resolve(folder, name)).href);
const lib = { ...(await part('index.js')), ...(await part('probes.js')) };
const steps = await openSteps(lib, { turns: true });
const times = [];
for (let step = 0; step < 6; step++) times.push(await steps.once());
await steps.close();
console.log(JSON.stringify(times));
process.exit(0);
