/**
 * Health, metrics and the read API, for operators. Owns no state: it asks the other folders at each request, reports
 * what they say to the other processes, and no folder imports it.
 */
export { AdminApiModule } from './admin-api.module.js';
