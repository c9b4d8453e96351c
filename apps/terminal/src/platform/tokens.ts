/** Injects {@link TerminalSettings}. */
export const TERMINAL_SETTINGS = Symbol('TerminalSettings');
/** Injects the kafkajs client, which `#libs/kafka` takes. */
export const KAFKA = Symbol('Kafka');
