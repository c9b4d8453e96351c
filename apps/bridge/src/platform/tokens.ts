/** Injects {@link BridgeSettings}. */
export const BRIDGE_SETTINGS = Symbol('BridgeSettings');
/** Injects the kafkajs client, to be handed on to `#libs/kafka`. */
export const KAFKA = Symbol('Kafka');
