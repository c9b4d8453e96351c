/**
 * Health, metrics, flow control and the read API, for operators. Owns no state: it reads the other folders at each
 * request and reports this process's flows to the other processes. No folder imports it.
 */
export { AdminApiModule } from './admin-api.module.js';
