// What the programs' HTTP servers have in common: errors as answers, empty bodies, limits, and metrics.
export {
  answerWithError,
  ApiError,
  ApiErrorFilter,
  isCutOff,
  REFUSED_ADDRESSES,
} from './api-error.js';
export { acceptEmptyJson } from './empty-body.js';
export { DATA_HEADERS, RateLimit, SERVER_CHECKS, SERVER_TIMEOUT } from './limits.js';
export { scrapedCounter, scrapedGauge } from './scraped-metrics.js';
