/** Injects {@link BridgeSettings}. */
export const BRIDGE_SETTINGS = Symbol('BridgeSettings');
/** Injects {@link Tracing}. */
export const TRACING = Symbol('Tracing');

/** Injects the kafkajs client, to be handed on to `#libs/kafka`. */
export const KAFKA = Symbol('Kafka');
