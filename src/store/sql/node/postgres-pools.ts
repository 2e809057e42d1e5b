/**
 * Connections to PostgreSQL, with and without a pooler. A direct connection gets its settings once, at the start of the session.
 * A pooler in transaction mode (PgBouncer, and most others) gives each transaction to any free session, so no session state may
 * be used: no startup parameters, no named prepared statements. There every transaction makes its settings with SET LOCAL. That
 * works on a direct connection too, but slower.
 */
import type { Pool, PoolClient } from 'pg';
import { invalidInput } from '../../../base/errors.ts';
import { loadDriver, missingPackage } from '../../../base/node/load-driver.ts';
import type { PostgresConfig } from './postgres-config.ts';
import { localSetting, parseOptions, type Address } from './postgres-address.ts';
import { isPoolerRefusal } from './postgres-errors.ts';

/** The server ends a connection that is idle in a transaction for this long: its client may be gone, and it holds locks. */
const IDLE_IN_TRANSACTION_MS = 60_000;
/** The client's time limit of a statement is this much longer than the server's: when it expires, the network is gone. */
const GRACE_MS = 5000;

/** How statements are sent on a connection. */
export type Manner = {
  /** Settings that begin each transaction. If there are any, single statements need a transaction too. */
  readonly settings: readonly string[];
  /** Whether statements are prepared by name, once per connection. */
  readonly isPrepared: boolean;
};

/** A connection, and how statements are sent on it. */
export type Connection = {
  readonly client: PoolClient;
  readonly manner: Manner;
  /** Whether an error reveals a pooler that this connection did not know of. Later connections know it. */
  showsPooler(error: unknown): boolean;
};

type Driver = (typeof import('pg'))['default'];

/** The connections to one database, and whether they go through a pooler. */
export class PostgresPools {
  readonly config: PostgresConfig;
  readonly #address: Address;
  readonly #driver: Driver;
  #pool: Pool;
  #isPooled: boolean;
  #manner: Manner;
  /** Pools from before a pooler was detected. Work that waits for one of their connections still gets it. */
  readonly #former: Pool[] = [];
  /** Connections that are known to be direct. */
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
      driver = loadDriver((require): Driver => require('pg'));
    } catch (cause) {
      throw missingPackage('pg', 'Storing in PostgreSQL', cause);
    }
    return new PostgresPools(address, config, driver);
  }

  /** Whether session state is avoided. */
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

  /** Whether the startup parameters are in force: a pooler may accept and ignore them. */
  async #isOwnSession(client: PoolClient): Promise<boolean> {
    if (this.#address.pooler === 'no' || this.#own.has(client)) return true;
    // The driver does not send 0.
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

  /** Startup settings of a direct connection, in milliseconds. */
  #startSettings(): ReadonlyMap<string, number> {
    return new Map([
      ['statement_timeout', this.config.statementTimeoutMs],
      ['idle_in_transaction_session_timeout', IDLE_IN_TRANSACTION_MS],
      ...this.#address.timeouts,
    ]);
  }

  /** False when the connection knew of the pooler, or when a pooler is excluded. */
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
      pool = new this.#driver.Pool({
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
    // Failures reach the work that uses the connection. Without a listener they would end the process.
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
