/** A private schema registry with Confluent's API. */
export interface LocalRegistry {
  /** Address of its API; the same after a restart. */
  readonly url: string;
  readonly port: number;
  /** Ends it with SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same port, without its schemas: ids begin again. */
  restart(): Promise<void>;
}

/**
 * Starts Apicurio Registry, which Maven fetches once. It ends with the calling process.
 *
 * @throws Error when Java or Maven is missing, or the registry does not start
 */
export function startLocalRegistry(): Promise<LocalRegistry>;
