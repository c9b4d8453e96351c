// What the programs' HTTP servers have in common: errors as answers, limits, and metrics.
export { answerWithError, ApiError, ApiErrorFilter, REFUSED_ADDRESSES } from './api-error.js';
export { DATA_HEADERS, RateLimit, SERVER_CHECKS, SERVER_TIMEOUT } from './limits.js';
export { scrapedCounter, scrapedGauge } from './scraped-metrics.js';
