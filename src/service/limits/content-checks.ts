/** The checks of a service that takes records of many. */
import { checkSegmentContent } from '../../segment/check-segment.ts';
import type { ContentChecks } from '../http/handler-options.ts';
import { checkProjectContent, checkRunContent } from '../../store/run-content.ts';

/** All checks of what is to be stored: see {@link checkSegmentContent} and `store/run-content.ts`. */
export const CONTENT_CHECKS: ContentChecks = {
  segment: checkSegmentContent,
  run: checkRunContent,
  project: checkProjectContent,
};
