/**
 * Values in the wire format of Confluent's Schema Registry: decodes inputs to JSON, and puts outputs into frames.
 *
 * Owns the requests to the registry, the cached schemas, and the readers of Avro and Protobuf. Schemas are untrusted
 * input like values: both are bounded. The caller interprets the JSON.
 */
export { reachRegistry, trySchema } from './registry-requests.js';
export { OutputFrames, outputSchema, SchemaRegistry } from './schema-registry.js';
