/** A private Kafka, for a test that has to stop, kill or restart its broker. */
export interface LocalKafka {
  /** `host:port`, the same after a restart. */
  readonly brokers: string;
  /** The port of each further listener, by the listener's name; the same after a restart. */
  readonly ports: Readonly<Record<string, number>>;
  /** The process id of the broker's present process. */
  pid(): number | undefined;
  /** Ends the broker cleanly (SIGTERM). */
  stop(): Promise<void>;
  /** Ends the broker with SIGKILL. */
  kill(): Promise<void>;
  /** Suspends the broker's process: connections stay open, and the broker does not answer. */
  freeze(): void;
  /** Resumes a suspended broker. */
  thaw(): void;
  /** Starts the broker on the same port and data; ends it first if it is running. */
  restart(): Promise<void>;
  /** Settles when the broker's present process has ended. */
  ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null; error?: string }>;
}

/** A further listener, on a free port of 127.0.0.1. */
export interface SecuredListener {
  /** In capital letters. */
  name: string;
  protocol: 'SSL' | 'SASL_SSL' | 'SASL_PLAINTEXT';
  /** The host that the broker tells clients to connect to. Default: 127.0.0.1. */
  host?: string;
  /** Kafka's properties of this listener, without `listener.name.<name>.`. */
  security: Readonly<Record<string, string>>;
}

/** A user with a SCRAM login. */
export interface ScramUser {
  mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  name: string;
  password: string;
}

export interface LocalKafkaOptions {
  /** Absolute folder for data, configuration and `kafka.log`; created if missing. */
  dir: string;
  /** The port to use. Default: any free port. */
  port?: number;
  /** The port to try first; if it is taken, the next free one is used. */
  preferredPort?: number;
  /** Deletes `dir` after the broker has ended, also if this process is killed; excludes `restart`. */
  removeWhenStopped?: boolean;
  listeners?: readonly SecuredListener[];
  /** Written into new data; existing data keeps its users. */
  scramUsers?: readonly ScramUser[];
  /** Further properties of the broker. */
  properties?: Readonly<Record<string, string>>;
  /** System properties of the broker's Java. */
  systemProperties?: Readonly<Record<string, string>>;
}

/** `{java, maven}` if a broker can run from Kafka's Maven artifacts, otherwise undefined. */
export function findJavaWay(): Promise<{ java: string; maven: string | undefined } | undefined>;

/**
 * Starts Apache Kafka from its Maven artifacts. It ends with the calling process, however that ends. Needs Java 17 or
 * newer. If there is only Docker or the user's own broker (`findJavaWay()` yields undefined), a test that needs this
 * skips itself.
 *
 * @throws Error when Java is missing or the broker does not start
 */
export function startLocalKafka(options: LocalKafkaOptions): Promise<LocalKafka>;

/** A private Kafka of several nodes; each is broker and controller. */
export interface LocalCluster {
  /** `host:port` of all nodes, separated by commas. */
  readonly brokers: string;
  readonly nodes: readonly LocalKafka[];
  /** Ends all nodes with SIGKILL. */
  kill(): Promise<void>;
}

/**
 * Starts `nodes` nodes from Kafka's Maven artifacts as one cluster. By default a topic is on all nodes, and a write
 * needs all but one. The cluster ends with the calling process.
 *
 * @throws Error when Java is missing or a node does not start
 */
export function startLocalCluster(options: { dir: string; nodes: number }): Promise<LocalCluster>;
