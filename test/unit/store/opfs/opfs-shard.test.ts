/** Shards on a file system in memory: writers that end in the middle of a frame, full disks, and files written anew. */
import { describe, expect, test } from 'vitest';
import type { Part } from '../../../../src/store/opfs/opfs-parts.ts';
import { Shard, type ShardState } from '../../../../src/store/opfs/opfs-shard.ts';
import { isWhole } from '../../../support/property.ts';
import { MemoryFile, MemoryFolder, memoryLocks } from './memory-files.ts';

const SEEDS = isWhole ? 60 : 5;

/** Values by name; null takes one out. A value may have bytes. */
class Values implements ShardState {
  readonly values = new Map<string, { readonly value: number; readonly part: Part | undefined }>();

  reset(): void {
    this.values.clear();
  }

  apply(body: unknown, [part]: readonly Part[]): void {
    const { name, value } = body as { readonly name: string; readonly value: number | null };
    if (value === null) this.values.delete(name);
    else this.values.set(name, { value, part });
  }

  *bodies() {
    for (const [name, { part, value }] of this.values)
      yield { body: { name, value }, parts: part === undefined ? [] : [part] };
  }
}

function location() {
  const folder = new MemoryFolder();
  const locks = memoryLocks();
  const asked: string[] = [];
  const open = (lingerMs = 0): Shard<Values> =>
    new Shard(new Values(), {
      folder: async () => folder,
      locks,
      lockName: 'shard',
      lingerMs,
      askToClose: () => asked.push('asked'),
    });
  const files = (): MemoryFile[] =>
    [...folder.files.values()].filter((file) => file instanceof MemoryFile);
  return { folder, open, files, asked };
}

const put = (shard: Shard<Values>, name: string, value: number | null, ...bytes: number[]) =>
  shard.change(
    () => shard.append({ name, value }, bytes.length === 0 ? [] : [Uint8Array.from(bytes)]),
    true,
  );
const valuesOf = (shard: Shard<Values>) =>
  shard.read(() => Object.fromEntries([...shard.state.values].map(([k, { value }]) => [k, value])));
const bytesOf = (shard: Shard<Values>, name: string) =>
  shard.read(async () => {
    const part = shard.state.values.get(name)?.part;
    const [bytes] = part === undefined ? [] : await shard.readParts([part]);
    return bytes && [...bytes];
  });
const seeded = (seed: number) => () =>
  (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

describe('shards', () => {
  test('writers have a file each, and read what the others have written', async () => {
    const { files, open } = location();
    const [a, b] = [open(), open()];
    await put(a, 'x', 1, 1, 2);
    await put(b, 'y', 2);
    await put(a, 'x', 3, 4);
    expect(await valuesOf(b)).toEqual({ x: 3, y: 2 });
    expect(await bytesOf(b, 'x')).toEqual([4]);
    expect(await valuesOf(a)).toEqual({ x: 3, y: 2 });
    expect(files()).toHaveLength(2);
  });

  test('the next writer takes on the file of one that ended, and cuts what is left of a frame', async () => {
    const { files, open } = location();
    const first = open();
    await put(first, 'x', 1);
    await first.close();
    const [file] = files();
    const whole = file?.bytes.byteLength ?? 0;
    if (file !== undefined)
      file.bytes = new Uint8Array(Buffer.concat([file.bytes, file.bytes.subarray(0, whole - 1)]));
    const second = open();
    expect(await valuesOf(second)).toEqual({ x: 1 });
    await put(second, 'y', 2);
    expect(files()).toHaveLength(1);
    expect(await valuesOf(open())).toEqual({ x: 1, y: 2 });
  });

  test('a change that there is no room for changes nothing, and those after it are made once there is', async () => {
    const { files, open } = location();
    const shard = open();
    await put(shard, 'x', 1);
    const [file] = files();
    if (file === undefined) throw new Error('There is a file.');
    file.room = file.bytes.byteLength + 10;
    await expect(put(shard, 'x', 2)).rejects.toThrow(/10 of/);
    expect(await valuesOf(shard)).toEqual({ x: 1 });
    expect(await valuesOf(open())).toEqual({ x: 1 });
    file.room = Number.POSITIVE_INFINITY;
    await put(shard, 'x', 3);
    expect(await valuesOf(open())).toEqual({ x: 3 });
  });

  test('where what others wrote cannot be read again after a failure, each change that waits is told so', async () => {
    const { files, folder, open } = location();
    const shard = open();
    await put(shard, 'x', 1);
    const [file] = files();
    if (file === undefined) throw new Error('There is a file.');
    file.room = file.bytes.byteLength + 10;
    const entries = folder.entries.bind(folder);
    const waiting = [put(shard, 'x', 2), put(shard, 'x', 3), put(shard, 'x', 4)];
    let lists = 0;
    folder.entries = () => {
      // The first list is that of the turn; the second one that after the failure.
      if (++lists === 2) throw new Error('no list');
      return entries();
    };
    const said = await Promise.allSettled(waiting);
    expect(said.map((one) => (one.status === 'rejected' ? String(one.reason) : 'made'))).toEqual([
      expect.stringMatching(/10 of/),
      'Error: no list',
      expect.stringMatching(/10 of/),
    ]);
    file.room = Number.POSITIVE_INFINITY;
    await put(shard, 'x', 5);
    expect(await valuesOf(open())).toEqual({ x: 5 });
  });

  test('what was written anew has taken the place of the rest, also for a writer with an open file', async () => {
    const { asked, files, open } = location();
    const [a, b] = [open(), open()];
    await put(a, 'x', 1, 5);
    await put(b, 'y', 2);
    for (let i = 0; i < 50; i++) await put(a, 'x', i, 6, i);
    const before = a.fileBytes;
    await a.change(() => a.rewrite(), true);
    expect(asked).not.toEqual([]);
    await b.release();
    expect(await valuesOf(b)).toEqual({ x: 49, y: 2 });
    expect(files()).toHaveLength(1);
    expect(files()[0]?.bytes.byteLength).toBeLessThan(before / 10);
    await put(b, 'y', 3);
    expect(await bytesOf(b, 'x')).toEqual([6, 49]);
    expect(await valuesOf(open())).toEqual({ x: 49, y: 3 });
  });

  test('files of which the end is missing count for nothing where they were to take the place of others', async () => {
    const { files, folder, open } = location();
    const shard = open();
    await put(shard, 'x', 1);
    await shard.close();
    const before = files().map(({ bytes }) => bytes);
    const again = open();
    await again.change(() => again.rewrite(), true);
    await again.close();
    // As a kill leaves them: what was there, and a part of what was to take its place.
    const [base] = files();
    if (base === undefined) throw new Error('There is a file.');
    base.bytes = base.bytes.slice(0, -4);
    (await folder.getFileHandle('w-before.log', { create: true })).bytes = before[0] ?? base.bytes;
    const last = open();
    expect(await valuesOf(last)).toEqual({ x: 1 });
    await put(last, 'y', 2);
    expect(await valuesOf(open())).toEqual({ x: 1, y: 2 });
    expect(files()).toHaveLength(1);
  });

  test('a damaged part stays damaged when all is written anew', async () => {
    const { files, open } = location();
    const shard = open();
    await put(shard, 'x', 1, 1, 2, 3);
    await put(shard, 'y', 2, 4);
    const [file] = files();
    const at = file?.bytes.indexOf(1) ?? 0;
    if (file !== undefined) file.bytes = file.bytes.map((byte, i) => (i === at ? 9 : byte));
    await shard.change(() => shard.rewrite(), true);
    expect(await bytesOf(shard, 'x')).toBe(undefined);
    expect(await bytesOf(open(), 'x')).toBe(undefined);
    expect(await bytesOf(open(), 'y')).toEqual([4]);
  });

  test('a change that is taken back was never there', async () => {
    const { open } = location();
    const shard = open(1);
    await put(shard, 'x', 1);
    const taking = shard.change(async () => {
      shard.takeBack(await shard.append({ name: 'x', value: 2 }));
    }, true);
    const next = shard.change(() => shard.state.values.get('x')?.value, true);
    await taking;
    expect(await next).toBe(1);
    expect(await valuesOf(open())).toEqual({ x: 1 });
  });

  test('any order of writers, ends, kills and new files has what was acknowledged', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = seeded(seed);
      const { files, open } = location();
      const wanted = new Map<string, number>();
      let shards = [open(), open(), open()];
      for (let step = 0; step < 40; step++) {
        const at = Math.floor(random() * shards.length);
        const shard = shards[at] ?? open();
        const name = `n${Math.floor(random() * 5)}`;
        const what = random();
        if (what < 0.7) {
          const value = random() < 0.2 ? null : step;
          await put(shard, name, value, ...Array.from({ length: step }, () => step));
          if (value === null) wanted.delete(name);
          else wanted.set(name, value);
        } else if (what < 0.8) await shard.change(() => shard.rewrite(), true);
        else if (what < 0.9) {
          await shard.close();
          shards[at] = open();
        } else {
          // A kill: nothing is closed, and a part of a frame is at the end of each file.
          for (const file of files()) {
            file.isOpen = false;
            const part = file.bytes.slice(0, Math.floor(random() * 60));
            file.bytes = new Uint8Array(Buffer.concat([file.bytes, part]));
          }
          shards = [open(), open(), open()];
        }
      }
      const last = open();
      expect(await valuesOf(last), `seed ${seed}`).toEqual(Object.fromEntries(wanted));
      for (const [name, value] of wanted)
        expect(await bytesOf(last, name), `seed ${seed}`).toEqual(
          value === 0 ? undefined : Array.from({ length: value }, () => value),
        );
    }
  });
});
