/**
 * Health, metrics and the read API, for operators. Owns no state: it asks the other rooms at each request, reports what
 * they say to the other processes, and no room knows it.
 */
export { AdminApiModule } from './admin-api.module.js';
