// What the programs' HTTP servers have in common: errors as answers, and limits.
export { answerWithError, ApiError, ApiErrorFilter } from './api-error.js';
export { DATA_HEADERS, RateLimit, SERVER_CHECKS, SERVER_TIMEOUT } from './limits.js';
