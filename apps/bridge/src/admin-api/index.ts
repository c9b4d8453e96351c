/**
 * Health, metrics and the read API, for operators. Owns no state: it asks the other rooms at each request, and no room
 * knows it.
 */
export { AdminApiModule } from './admin-api.module.js';
