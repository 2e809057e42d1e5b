/** Limits on the connections of a server, in all and per address. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { SessionStoreError } from '../../base/errors.ts';
import { OpenCounter } from '../limits/limits.ts';
import { isLoopbackAddress } from '../limits/origin-rules.ts';
import { encodeError } from '../../wire/wire-errors.ts';
import { rawAnswer } from './listener.ts';

/** The limits. */
export type ConnectionBounds = {
  readonly maxConnections: number;
  /** Loopback addresses are exempt: a proxy on this machine stands for all its clients. */
  readonly maxConnectionsPerAddress: number;
};

/** Limit on refused connections that are being sent a 503; further ones are closed without an answer. */
const MAX_TOLD = 64;
const TOLD_MS = 1_000;
const RETRY_MS = 5_000;

/** The connections of a server. */
export class ConnectionSlots {
  readonly #bounds: ConnectionBounds;
  readonly #onRefused: (bound: 'all' | 'address') => void;
  readonly #byAddress = new OpenCounter();
  /** Idle connections, the longest idle first. */
  readonly #idle = new Set<Socket>();
  /** Unanswered requests of each connection. */
  readonly #requests = new Map<Socket, number>();
  #told = 0;
  #refused = 0;

  /** @param onRefused called for each refused connection, with the limit that refused it */
  constructor(
    bounds: ConnectionBounds,
    onRefused: (bound: 'all' | 'address') => void = () => undefined,
  ) {
    this.#bounds = bounds;
    this.#onRefused = onRefused;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#byAddress.total;
  }

  /** Number of connections refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Applies the limits to a server. */
  guard(server: Server): void {
    server.on('connection', (socket: Socket) => this.#take(socket));
    server.on('request', ({ socket }, answer) => {
      const requests = this.#requests.get(socket);
      if (requests === undefined) return;
      this.#requests.set(socket, requests + 1);
      this.#idle.delete(socket);
      answer.once('close', () => {
        const left = (this.#requests.get(socket) ?? 0) - 1;
        if (left < 0) return;
        this.#requests.set(socket, left);
        if (left === 0) this.#idle.add(socket);
      });
    });
  }

  #take(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const { maxConnections, maxConnectionsPerAddress } = this.#bounds;
    if (!isLoopbackAddress(address) && this.#byAddress.of(address) >= maxConnectionsPerAddress) {
      this.#refuse(socket, 'address');
      return;
    }
    if (this.open >= maxConnections && !this.#makeRoom()) {
      this.#refuse(socket, 'all');
      return;
    }
    const close = this.#byAddress.open(address);
    this.#idle.add(socket);
    this.#requests.set(socket, 0);
    socket.once('close', () => {
      close();
      this.#idle.delete(socket);
      this.#requests.delete(socket);
    });
  }

  /** Closes the connection that has been idle longest, to make space for a new one. */
  #makeRoom(): boolean {
    const [longest] = this.#idle;
    if (longest === undefined) return false;
    this.#idle.delete(longest);
    longest.destroy();
    return true;
  }

  #refuse(socket: Socket, bound: 'all' | 'address'): void {
    this.#refused += 1;
    this.#onRefused(bound);
    if (this.#told >= MAX_TOLD) {
      socket.destroy();
      return;
    }
    this.#told += 1;
    const timer = setTimeout(() => socket.destroy(), TOLD_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      this.#told -= 1;
    });
    const message =
      bound === 'address'
        ? 'Too many connections are open from this address.'
        : 'Too many connections are open.';
    const error = new SessionStoreError('busy', message, { details: { retryAfterMs: RETRY_MS } });
    const { body, retryAfterSeconds } = encodeError(error);
    socket.on('error', () => undefined);
    socket.end(rawAnswer('503 Service Unavailable', JSON.stringify(body), retryAfterSeconds));
  }
}
