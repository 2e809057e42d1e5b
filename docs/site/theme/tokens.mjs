// The colours and sizes of the dashboard, as they are there, for a page that follows the system until somebody chooses.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../pages/navigation.mjs';

/** The tokens; those of the dark scheme hold for a choice and, without one, for a dark system. */
export function themeTokens() {
  const tokens = readFileSync(join(root, 'dashboard/theme/tokens.css'), 'utf8');
  const dark = /:root\[data-theme='dark'\] \{([\s\S]*?)\n\}/.exec(tokens)?.[1];
  if (dark === undefined)
    throw new Error("dashboard/theme/tokens.css has no rule :root[data-theme='dark'].");
  return `${tokens}
@media screen and (prefers-color-scheme: dark) {
  :root:not([data-theme]) {${dark}
  }
}`;
}
