// Settings of all programs, from the environment and the files that it names. All faults are reported at once.
export {
  type BridgeSettings,
  describeBridgeSettings,
  loadBridgeSettings,
  loadFlows,
} from './bridge-settings.js';
export {
  type Environment,
  type EnvironmentReader,
  EXIT_CODE_BAD_SETTINGS,
  type FromFiles,
  loadSettingsFile,
  type LogLevel,
  readEnvironment,
  SettingsError,
  type UnsupportedSetting,
  versionOf,
} from './environment-reader.js';
export { type ErpAccess, type ErpSettings, loadErpSettings } from './erp-settings.js';
export { loadBridgeAddress } from './http-settings.js';
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
  loadKafkaSettings,
  type SchemaRegistrySettings,
} from './kafka-settings.js';
export { misspeltSettings } from './misspelt-settings.js';
export { type ProxySettings } from './proxy-settings.js';
export { loadSandboxSettings, type SandboxSettings } from './sandbox-settings.js';
export {
  loadTerminalSettings,
  type TerminalAccess,
  type TerminalSettings,
} from './terminal-settings.js';
export {
  FileTooLargeError,
  readSettingsFile,
  readSettingsFileAsync,
  settingsFileVersion,
} from './settings-file.js';
export { tokenFault, type TokenSettings } from './token-settings.js';
export { type TracingSettings } from './tracing-settings.js';
export { WatchedFiles } from './watched-files.js';
