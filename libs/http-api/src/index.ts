// Shared parts of the programs' HTTP servers: errors as answers, empty bodies, tokens, limits, health, and metrics.
export {
  answerWithError,
  ApiError,
  ApiErrorFilter,
  isCutOff,
  REFUSED_ADDRESSES,
} from './api-error.js';
export { bearerDigests, isForLoopback, isFromPage, ownerOf, sha256 } from './bearer-tokens.js';
export { type HealthCondition, HealthConditions, HealthController } from './health.controller.js';
export { acceptEmptyJson, createHttpApp, DATA_HEADERS } from './http-app.js';
export { networkOf, RateLimit } from './rate-limit.js';
export { scrapedCounter, scrapedGauge } from './scraped-metrics.js';
