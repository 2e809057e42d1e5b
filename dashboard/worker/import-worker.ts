// The worker of the page that imports what is dropped on it. Nothing it does leaves the machine.
import { hostImports } from './import-host.ts';

hostImports(self);
