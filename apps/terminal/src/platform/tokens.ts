/** Injects {@link TerminalSettings}. */
export const TERMINAL_SETTINGS = Symbol('TerminalSettings');
/** Injects the kafkajs client, to be handed on to `#libs/kafka`. */
export const KAFKA = Symbol('Kafka');
