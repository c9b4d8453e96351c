// Shared parts of the programs' HTTP servers: errors as answers, empty bodies, tokens, limits, health, and metrics.
export {
  answerWithError,
  ApiError,
  ApiErrorFilter,
  isCutOff,
  REFUSED_ADDRESSES,
} from './api-error.js';
export { bearerDigests, isForLoopback, ownerOf, sha256 } from './bearer-tokens.js';
export { acceptEmptyJson } from './empty-body.js';
export { type HealthCondition, HealthConditions, HealthController } from './health.controller.js';
export { createHttpApp } from './http-app.js';
export { DATA_HEADERS, RateLimit } from './limits.js';
export { scrapedCounter, scrapedGauge } from './scraped-metrics.js';
