export { AdminApiModule } from './admin-api.module.js';
