/** A private Kafka, for a test that needs to stop, kill or restart its broker. */
export interface LocalKafka {
  /** `host:port`, the same after a restart. */
  readonly brokers: string;
  /** Where each of the further listeners is bound, by its name; the same after a restart. */
  readonly ports: Readonly<Record<string, number>>;
  /** The broker's present process. */
  pid(): number | undefined;
  /** Ends the broker cleanly (SIGTERM). */
  stop(): Promise<void>;
  /** Ends the broker with SIGKILL. */
  kill(): Promise<void>;
  /** Stops the broker's process where it stands: connections stay open and nothing answers. */
  freeze(): void;
  /** Lets a frozen broker go on. */
  thaw(): void;
  /** Starts the broker again on the same port and data; ends it first if it still runs. */
  restart(): Promise<void>;
  /** Settles when the broker's present process has ended. */
  ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null; error?: string }>;
}

/** A way in beside the plain one, on a free port of 127.0.0.1. */
export interface SecuredListener {
  /** Capital letters. */
  name: string;
  protocol: 'SSL' | 'SASL_SSL' | 'SASL_PLAINTEXT';
  /** What clients are told to connect to. Default: 127.0.0.1. */
  host?: string;
  /** Kafka's properties of this listener, without `listener.name.<name>.`. */
  security: Readonly<Record<string, string>>;
}

/** Whom the broker lets in by SCRAM. */
export interface ScramUser {
  mechanism: 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
  name: string;
  password: string;
}

export interface LocalKafkaOptions {
  /** Absolute folder for data, configuration and `kafka.log`; created when missing. */
  dir: string;
  /** Taken as it is. Default: any free port. */
  port?: number;
  /** Tried first, gives way to the next free port. */
  preferredPort?: number;
  /** Deletes `dir` once the broker has ended, also when this process was killed; rules out `restart`. */
  removeWhenStopped?: boolean;
  listeners?: readonly SecuredListener[];
  /** Written into new data; a folder that has data keeps those it has. */
  scramUsers?: readonly ScramUser[];
  /** Kafka's properties of the broker, beside its own. */
  properties?: Readonly<Record<string, string>>;
  /** Of the broker's Java. */
  systemProperties?: Readonly<Record<string, string>>;
}

/** `{java, maven}` when a broker can be run from Kafka's Maven artifacts, else undefined. */
export function findJavaWay(): Promise<{ java: string; maven: string | undefined } | undefined>;

/**
 * Starts Apache Kafka from its Maven artifacts. Ends with the calling process, however that ends.
 * Needs Java 17 or newer: where only Docker or a broker of one's own is there, a test that needs this skips itself
 * (`findJavaWay()` yields undefined).
 *
 * @throws Error when Java is missing or the broker does not start
 */
export function startLocalKafka(options: LocalKafkaOptions): Promise<LocalKafka>;

/** A private Kafka of several nodes, each broker and controller. */
export interface LocalCluster {
  /** `host:port` of all of them, with commas. */
  readonly brokers: string;
  readonly nodes: readonly LocalKafka[];
  /** Ends all of them with SIGKILL. */
  kill(): Promise<void>;
}

/**
 * Starts so many nodes from Kafka's Maven artifacts as one cluster. Every topic is on all of them unless it says
 * otherwise, and writing takes all but one. Ends with the calling process.
 *
 * @throws Error when Java is missing or a node does not start
 */
export function startLocalCluster(options: { dir: string; nodes: number }): Promise<LocalCluster>;
