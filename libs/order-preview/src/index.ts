/** What the bridge would do with order documents, without Kafka and the service: for commands and `apps/ingest`. */
export { OrderPreview, type PreviewedDocument } from './order-preview.js';
