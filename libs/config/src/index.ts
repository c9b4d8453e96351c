export {
  type BridgeSettings,
  describeBridgeSettings,
  loadBridgeSettings,
  loadFlows,
  type SettingDescription,
} from './bridge-settings.js';
export {
  type Environment,
  EXIT_CODE_BAD_SETTINGS,
  type FromFiles,
  loadSettingsFile,
  readEnvironment,
  SettingsError,
} from './environment-reader.js';
export {
  type ErpAccess,
  type ErpCredentials,
  type ErpSettings,
  loadErpSettings,
} from './erp-settings.js';
export { type HttpSettings, loadBridgeAddress } from './http-settings.js';
export {
  type DocumentPath,
  type IngestCallback,
  type IngestSender,
  type IngestSettings,
  type IngestTls,
  loadIngestSettings,
  SENDER_PATHS,
  type SenderPath,
} from './ingest-settings.js';
export {
  type KafkaOAuthClient,
  type KafkaSaslSettings,
  type KafkaSettings,
  type KafkaTlsSettings,
  loadKafkaSettings,
} from './kafka-settings.js';
export { type LogLevel } from './log-level.js';
export { type MachineCloudSettings } from './machine-cloud-settings.js';
export { loadSandboxSettings, type SandboxSettings } from './sandbox-settings.js';
export {
  loadTerminalSettings,
  type ReasonLooks,
  type TerminalAccess,
  type TerminalSettings,
} from './terminal-settings.js';
export { type SchemaRegistrySettings } from './schema-registry-settings.js';
export { type TracingSettings } from './tracing-settings.js';
