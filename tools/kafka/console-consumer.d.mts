/**
 * The command line of Kafka's own console consumer (Java), from the artifacts of the local Kafka.
 *
 * @throws Error when Java is missing, whichever broker shall be read
 */
export function consoleConsumer(): Promise<[program: string, ...args: string[]]>;

/** The command line of another of Kafka's tools, by its class. */
export function kafkaTool(className: string): Promise<[program: string, ...args: string[]]>;
