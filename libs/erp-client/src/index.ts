/** GET requests to ERP systems, within bounds: of each enrichment rule its own connections, credentials and deadline. */
export { type ErpAnswer, ErpClient } from './erp-client.js';
export { openErpClient } from './open-erp-client.js';
