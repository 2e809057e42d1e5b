// The pages that are made from the sources of the package, by the name that navigation.json gives their section.

import { examplePages } from '../examples/pages.mjs';
import { httpPages } from '../http/pages.mjs';
import { referencePages } from '../reference/pages.mjs';

/** Each gives pages: `address`, `title` and `html`, and `depth` and `under` where a page is below another. */
export const MADE = {
  examples: examplePages,
  reference: referencePages,
  http: httpPages,
};
