/**
 * Connections to PostgreSQL, and what has to be said on them. A session of one's own is given its settings once, as it
 * starts. Behind a pooler that gives each transaction to whichever session is free (PgBouncer, and most others), nothing
 * that belongs to a session may be used: no parameters at the start, no statements by name. There every transaction
 * makes its settings for itself, and they end with it. What does so works on a session of one's own too, only slower.
 */
import type { Pool, PoolClient } from 'pg';
import { invalidInput, messageOf, SessionStoreError } from '../base/errors.ts';
import { localSetting, parseOptions, type Address } from './postgres-address.ts';
import { isPoolerRefusal } from './postgres-errors.ts';

/** How a database is used. */
export type PostgresConfig = {
  /** Connections at most, 1 to 1000. All services together must stay under the server's own limit. Default 10. */
  readonly maxConnections: number;
  /** How long to wait for a connection, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs: number;
  /** How long a statement may take, in milliseconds; the server ends it then. Default 60,000. */
  readonly statementTimeoutMs: number;
  /** For how long what failed is attempted again, in milliseconds; 0: once only. Default 15,000. */
  readonly retryTimeoutMs: number;
};

/** The defaults of `openPostgresStorage`. */
export const DEFAULT_POSTGRES_CONFIG: PostgresConfig = Object.freeze({
  maxConnections: 10,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 60_000,
  retryTimeoutMs: 15_000,
});

/** A connection that holds locks and says nothing, because its machine is gone, is ended by the server after this. */
const IDLE_IN_TRANSACTION_MS = 60_000;
/** How much later than the server the client gives a statement up: then the network is gone. */
const GRACE_MS = 5000;

/** What is said on a connection. */
export type Manner = {
  /** What each transaction begins with; where there is any, a single statement needs a transaction too. */
  readonly settings: readonly string[];
  /** Whether statements are prepared once a connection. */
  readonly isPrepared: boolean;
};

/** A connection, and how to speak on it. */
export type Connection = {
  readonly client: PoolClient;
  readonly manner: Manner;
  /** Whether an error shows that there is a pooler, and it was not known to this connection: the next ones know. */
  showsPooler(error: unknown): boolean;
};

type Driver = typeof import('pg');

/** Connections to one database, and whether they go through a pooler. */
export class PostgresPools {
  readonly config: PostgresConfig;
  readonly #address: Address;
  readonly #driver: Driver;
  #pool: Pool;
  #isPooled: boolean;
  #manner: Manner;
  /** Pools from before a pooler was noticed; who waits for one of their connections still gets it. */
  readonly #former: Pool[] = [];
  /** Connections that are known to be a session of one's own. */
  readonly #own = new WeakSet<PoolClient>();

  private constructor(address: Address, config: PostgresConfig, driver: Driver) {
    this.#address = address;
    this.config = config;
    this.#driver = driver;
    this.#isPooled = address.pooler === 'yes';
    this.#pool = this.#makePool();
    this.#manner = this.#mannerOf();
  }

  /**
   * Connects to nothing yet.
   *
   * @throws {QuarkError} `invalid_input` when the driver does not understand the address
   * @throws {SessionStoreError} `failed` when there is no driver
   */
  static async open(address: Address, config: PostgresConfig): Promise<PostgresPools> {
    let driver: Driver;
    try {
      driver = await import('pg');
    } catch (cause) {
      throw new SessionStoreError(
        'failed',
        `The PostgreSQL driver "pg" could not be loaded: ${messageOf(cause)}. Install quark-sdk with its dependencies.`,
        { cause },
      );
    }
    return new PostgresPools(address, config, driver);
  }

  /** Whether nothing of a session is used. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** @throws what the driver and the server say */
  async connect(): Promise<Connection> {
    for (;;) {
      const manner = this.#manner;
      const pool = this.#pool;
      try {
        const client = await pool.connect();
        if (this.#isPooled || (await this.#isOwnSession(client)))
          return {
            client,
            manner,
            showsPooler: (error) => isPoolerRefusal(error) && this.#noticePooler(manner),
          };
        client.release(true);
        this.#noticePooler(manner);
      } catch (error) {
        if (!isPoolerRefusal(error) || !this.#noticePooler(manner)) throw error;
      }
    }
  }

  async end(): Promise<void> {
    await Promise.all([this.#pool, ...this.#former].map((pool) => pool.end()));
  }

  /** Whether what was said as the session started holds: a pooler may have taken it, and told nobody. */
  async #isOwnSession(client: PoolClient): Promise<boolean> {
    if (this.#address.pooler === 'no' || this.#own.has(client)) return true;
    // 0 was not said: the driver leaves it out.
    const said = [...this.#startSettings()].filter(([, ms]) => ms > 0);
    const shown = said.map(([name]) => `current_setting('${name}')`);
    let row: readonly unknown[];
    try {
      const asked = { text: `SELECT version(), ${shown.join(', ')}`, rowMode: 'array' } as const;
      row = (await client.query<unknown[]>(asked)).rows[0] ?? [];
    } catch (error) {
      client.release(true);
      throw error;
    }
    const [version, ...values] = row.map(String);
    // CockroachDB shows them in other units.
    const isOwn =
      version?.includes('CockroachDB') === true ||
      said.every(([, ms], i) => millisecondsOf(values[i] ?? '') === ms);
    if (isOwn) this.#own.add(client);
    return isOwn;
  }

  /** What a session of one's own is told, in milliseconds. */
  #startSettings(): ReadonlyMap<string, number> {
    return new Map([
      ['statement_timeout', this.config.statementTimeoutMs],
      ['idle_in_transaction_session_timeout', IDLE_IN_TRANSACTION_MS],
      ...this.#address.timeouts,
    ]);
  }

  /** False when who has spoken in this manner knew, or a pooler was ruled out. */
  #noticePooler(manner: Manner): boolean {
    if (manner !== this.#manner) return true;
    if (this.#isPooled || this.#address.pooler === 'no') return false;
    this.#isPooled = true;
    this.#former.push(this.#pool);
    this.#pool = this.#makePool();
    this.#manner = this.#mannerOf();
    return true;
  }

  #mannerOf(): Manner {
    if (!this.#isPooled) return { settings: [], isPrepared: this.#address.isPrepared ?? true };
    const settings = new Map(parseOptions(this.#address.options).settings);
    for (const [name, ms] of this.#startSettings()) settings.set(name, String(ms));
    return {
      settings: [...settings].map(([name, value]) => localSetting(name, value)),
      isPrepared: this.#address.isPrepared ?? false,
    };
  }

  #makePool(): Pool {
    const { maxConnections, connectTimeoutMs, statementTimeoutMs } = this.config;
    const { connectionString, shown } = this.#address;
    const options = this.#isPooled
      ? parseOptions(this.#address.options).rest
      : this.#address.options;
    let pool: Pool;
    try {
      pool = new this.#driver.default.Pool({
        connectionString,
        application_name: 'quark',
        max: maxConnections,
        connectionTimeoutMillis: connectTimeoutMs,
        idleTimeoutMillis: 30_000,
        keepAlive: true,
        query_timeout: statementTimeoutMs + GRACE_MS,
        ...(options === '' ? {} : { options }),
        ...(this.#isPooled ? {} : Object.fromEntries(this.#startSettings())),
        pipeline: true,
      });
    } catch {
      throw invalidInput('storage', shown, 'an address whose options "pg" understands');
    }
    // Each failure reaches the work that meets it; without listeners it would end the process.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }
}

/** A time as the server shows it: in the largest unit in which it is whole. */
function millisecondsOf(shown: string): number {
  const [, count, unit = ''] = /^(\d+)(\w*)$/.exec(shown) ?? [];
  const units: Readonly<Record<string, number>> = {
    '': 1,
    ms: 1,
    s: 1e3,
    min: 6e4,
    h: 36e5,
    d: 864e5,
  };
  return Number(count) * (units[unit] ?? Number.NaN);
}
