/** What a service must not have more of after a siege than before: memory, handles, files that nobody finishes. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { criterion, type Criterion } from './report.ts';
import type { ServiceUnderSiege } from './service.ts';

/** Connections of the probes and of the database may be open or not at the moment of the count. */
const SPARE_HANDLES = 8;
/** The heap and the allocator keep some of what they once had. */
const SPARE_MIB = 96;

/** What there is at one moment. */
export type Footprint = {
  readonly handles: number;
  readonly residentMiB: number;
  readonly unfinished: number;
};

/** Takes the measure, once nothing is under way. */
export async function footprintOf(service: ServiceUnderSiege, storage: string): Promise<Footprint> {
  await service.settled(15_000);
  return {
    handles: await service.handles(),
    residentMiB: await service.residentMiB(),
    unfinished: await unfinishedIn(storage),
  };
}

/** Files of blobs that were begun and not finished. */
export async function unfinishedIn(storage: string): Promise<number> {
  const incoming = join(storage, '.quark', 'blobs', 'incoming');
  return (await readdir(incoming).catch(() => [])).length;
}

/** Whether it has grown. */
export function growthOf(part: string, before: Footprint, after: Footprint): readonly Criterion[] {
  return [
    criterion(
      `${part}: handles are within ${SPARE_HANDLES} of those before`,
      after.handles <= before.handles + SPARE_HANDLES,
      `${before.handles}, then ${after.handles}`,
    ),
    criterion(
      `${part}: memory is within ${SPARE_MIB} MiB of that before`,
      after.residentMiB <= before.residentMiB + SPARE_MIB,
      `${before.residentMiB.toFixed(0)} MiB, then ${after.residentMiB.toFixed(0)} MiB`,
    ),
    criterion(
      `${part}: no file of a blob is left unfinished`,
      after.unfinished === 0,
      `${after.unfinished}`,
    ),
  ];
}
