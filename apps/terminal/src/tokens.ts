/** Injects {@link TerminalSettings}. */
export const TERMINAL_SETTINGS = Symbol('TerminalSettings');
/** Injects the kafkajs client, to be handed on to `#libs/messaging`. */
export const KAFKA = Symbol('Kafka');
