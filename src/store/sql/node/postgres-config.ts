/** Settings of a store in PostgreSQL. */

/** Limits of the connections to a database. */
export type PostgresConfig = {
  /**
   * Largest number of connections, 1 to 1000. The sum over all services must stay under the server's `max_connections`. Default:
   * 10.
   */
  readonly maxConnections: number;
  /** How long to wait for a connection, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs: number;
  /** How long a statement may take, in milliseconds; the server ends it then. Default 60,000. */
  readonly statementTimeoutMs: number;
  /** How long failed work is retried, in milliseconds; 0: no retries. Default: 15,000. */
  readonly retryTimeoutMs: number;
};

/** The defaults of `openPostgresStorage`. */
export const DEFAULT_POSTGRES_CONFIG: PostgresConfig = Object.freeze({
  maxConnections: 10,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 60_000,
  retryTimeoutMs: 15_000,
});
