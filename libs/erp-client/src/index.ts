/** GET requests to ERP systems, within bounds: each enrichment rule has its connections, credentials and deadline. */
export { type ErpAnswer, ErpClient } from './erp-client.js';
