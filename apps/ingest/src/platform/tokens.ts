/** Injects {@link IngestSettings}. */
export const INGEST_SETTINGS = Symbol('IngestSettings');
/** Injects the kafkajs client, to be handed on to `#libs/kafka`. */
export const KAFKA = Symbol('Kafka');
