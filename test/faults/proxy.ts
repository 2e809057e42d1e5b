/** A proxy that does to connections what networks do: drops, delays, truncates, duplicates, reorders, swallows. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export const NETWORK_FAULTS = [
  /** As it should be. */
  'none',
  /** Closed before a byte gets through. */
  'drop',
  /** Every piece comes late. */
  'delay',
  /** Cut off somewhere in the question. */
  'truncate_question',
  /** Cut off somewhere in the answer: the other end has done what it was asked. */
  'truncate_answer',
  /** What was asked is asked again later, on a connection of its own. */
  'duplicate',
  /** Held back, while those that come after it go ahead. */
  'reorder',
  /** Taken and never answered. */
  'swallow',
] as const;

export type NetworkFault = (typeof NETWORK_FAULTS)[number];

const MAX_DELAY_MS = 30;
const MAX_HOLD_MS = 120;
const MAX_LIFE_MS = 250;
/** A request of the tests and its answer have a few kB. */
const MAX_BYTES_BEFORE_CUT = 12_000;

/** See the top of this file. */
export class FaultyProxy {
  readonly counts = new Map<NetworkFault, number>();
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #random: () => number;
  /** Faults that happen; all alike. */
  faults: readonly NetworkFault[] = NETWORK_FAULTS;

  private constructor(target: number, random: () => number) {
    this.#target = target;
    this.#random = random;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** A proxy before the service on this port. */
  static async start(target: number, random: () => number = Math.random): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target, random);
    await new Promise<void>((resolve) => {
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get uri(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    const fault = this.faults[Math.floor(this.#random() * this.faults.length)] ?? 'none';
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
    this.#watch(client);
    switch (fault) {
      case 'drop':
        client.destroy();
        return;
      case 'swallow':
        client.resume();
        return;
      case 'reorder':
        client.pause();
        this.#later(MAX_HOLD_MS, () => this.#join(client, fault));
        return;
      case 'none':
      case 'delay':
      case 'truncate_question':
      case 'truncate_answer':
      case 'duplicate':
        this.#join(client, fault);
    }
  }

  #join(client: Socket, fault: NetworkFault): void {
    const service = this.#watch(connect(this.#target, '127.0.0.1'));
    const asked: Buffer[] = [];
    client.on('close', () => {
      service.destroy();
      if (fault === 'duplicate') this.#later(MAX_HOLD_MS, () => this.#repeat(Buffer.concat(asked)));
    });
    service.on('close', () => client.destroy());
    if (fault === 'duplicate') client.on('data', (piece: Buffer) => asked.push(piece));
    this.#pass(client, service, fault === 'truncate_question', fault === 'delay');
    this.#pass(service, client, fault === 'truncate_answer', fault === 'delay');
    // None is kept for long once it has carried something, so that there are many.
    service.once('data', () => this.#later(MAX_LIFE_MS, () => client.destroy()));
  }

  #pass(from: Socket, to: Socket, isCut: boolean, isLate: boolean): void {
    let room = isCut ? Math.floor(this.#random() * MAX_BYTES_BEFORE_CUT) : Number.POSITIVE_INFINITY;
    let last = Promise.resolve();
    from.on('data', (piece: Buffer) => {
      const part = piece.subarray(0, room);
      room -= piece.length;
      const isEnd = room < 0;
      const forward = (): void => {
        if (!to.destroyed) to.write(part);
        if (isEnd) {
          to.end();
          from.destroy();
        }
      };
      if (!isLate) forward();
      else
        last = last.then(
          () =>
            new Promise((resolve) => {
              this.#later(MAX_DELAY_MS, () => {
                forward();
                resolve();
              });
            }),
        );
    });
  }

  /** Asks the same again, whatever comes of it. */
  #repeat(asked: Buffer): void {
    const again = this.#watch(connect(this.#target, '127.0.0.1'));
    again.resume();
    again.write(asked);
    this.#later(4 * MAX_HOLD_MS, () => again.destroy());
  }

  #later(maxMs: number, work: () => void): void {
    setTimeout(work, this.#random() * maxMs);
  }

  #watch(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }
}
