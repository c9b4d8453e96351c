// Shared parts of the programs' HTTP servers: errors as answers, empty bodies, limits, and metrics.
export {
  answerWithError,
  ApiError,
  ApiErrorFilter,
  isCutOff,
  REFUSED_ADDRESSES,
} from './api-error.js';
export { acceptEmptyJson } from './empty-body.js';
export { createHttpApp } from './http-app.js';
export { DATA_HEADERS, RateLimit } from './limits.js';
export { scrapedCounter, scrapedGauge } from './scraped-metrics.js';
