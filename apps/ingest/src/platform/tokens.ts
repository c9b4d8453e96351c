/** Injects {@link IngestSettings}. */
export const INGEST_SETTINGS = Symbol('IngestSettings');
/** Injects the kafkajs client, which `#libs/kafka` takes. */
export const KAFKA = Symbol('Kafka');
