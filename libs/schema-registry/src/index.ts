/**
 * Values in the wire format of Confluent's Schema Registry: inputs as the JSON that they stand for, outputs in frames.
 *
 * It owns the requests to the registry, the schemas that it has answered with, and the readers of Avro and Protobuf. A
 * schema is as much input from outside as a value: both are bounded. What the JSON means is for its reader to say.
 */
export { reachRegistry, trySchema } from './registry-requests.js';
export { OutputFrames, outputSchema, SchemaRegistry } from './schema-registry.js';
