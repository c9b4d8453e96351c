/**
 * The command line of Kafka's own console consumer (Java), from the artifacts that the local Kafka runs with.
 *
 * @throws Error when Java is missing, whichever broker is to be read
 */
export function consoleConsumer(): Promise<[program: string, ...args: string[]]>;

/** The same of another of Kafka's tools, by its class. */
export function kafkaTool(className: string): Promise<[program: string, ...args: string[]]>;
