/** The parts of a siege by name. */
import { siegeOfDisks } from './part-disks.ts';
import { siegeOfExpensive } from './part-expensive.ts';
import { siegeOfKills, siegeOfPooler } from './part-kills.ts';
import { siegeOfKeys } from './part-keys.ts';
import { siegeOfLeaving } from './part-leave.ts';
import { siegeOfMutated } from './part-mutate.ts';
import { siegeOfPower } from './part-powercut.ts';
import { siegeOfRoutes } from './part-routes.ts';
import { siegeOfSlow } from './part-slow.ts';
import { siegeOfUpgrade } from './part-upgrade.ts';
import type { Report, Siege } from './report.ts';

export { printed } from './report.ts';

export const PARTS: Readonly<Record<string, (siege: Siege) => Promise<Report>>> = {
  leave: (siege) => siegeOfLeaving(siege),
  expensive: siegeOfExpensive,
  slow: siegeOfSlow,
  keys: siegeOfKeys,
  powercut: siegeOfPower,
  mutate: siegeOfMutated,
  routes: siegeOfRoutes,
  upgrade: siegeOfUpgrade,
  kills: siegeOfKills,
  pooler: siegeOfPooler,
  disks: siegeOfDisks,
};
