/**
 * Names of attributes: those of OpenTelemetry's semantic conventions 1.36 for messaging (Kafka) and HTTP clients, then
 * the bridge's own. docs/traces.md has the same table.
 */
export const ATTRIBUTES = {
  messagingSystem: 'messaging.system',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  topic: 'messaging.destination.name',
  partition: 'messaging.destination.partition.id',
  offset: 'messaging.kafka.offset',
  key: 'messaging.kafka.message.key',
  group: 'messaging.consumer.group.name',
  envelopeSize: 'messaging.message.envelope.size',
  method: 'http.request.method',
  status: 'http.response.status_code',
  url: 'url.full',
  urlTemplate: 'url.template',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  errorType: 'error.type',
  operation: 'machine_bridge.operation',
  machineId: 'machine_bridge.machine_id',
  outcome: 'machine_bridge.outcome',
  code: 'machine_bridge.code',
  events: 'machine_bridge.events',
} as const;

/** Name of the span event that reports an outcome. */
export const OUTCOME_EVENT = 'machine_bridge.outcome';
