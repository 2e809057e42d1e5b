// The worker of the page that smooths long curves.
import { hostSmoothing } from './smooth-host.ts';

hostSmoothing(self);
