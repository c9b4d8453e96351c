/** A private schema registry with the API of Confluent's. */
export interface LocalRegistry {
  /** Of its API; the same after a restart. */
  readonly url: string;
  readonly port: number;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same port, without what it had: ids begin anew. */
  restart(): Promise<void>;
}

/**
 * Starts Apicurio Registry, fetched with Maven once. Ends with the calling process.
 *
 * @throws Error when Java or Maven is missing, or it does not start
 */
export function startLocalRegistry(): Promise<LocalRegistry>;
