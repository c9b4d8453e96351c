// HTTP requests to one host: reused connections, directly or through a proxy, deadlines; every failure is a value.
export {
  applied,
  bodyRead,
  type HttpAnswer,
  HttpError,
  describeUnauthorised,
  type IncompleteEntries,
  isWebPage,
  type ListEntries,
  listRead,
  parseHttpDate,
  readRetryAfter,
  RememberedForm,
  type SuccessMeaning,
  toAnswer,
  type Unauthorised,
} from './http-answer.js';
export {
  ASKED_FOR,
  type HttpCaller,
  type HttpCall,
  type Exchange,
  type HeaderList,
  type HttpRequest,
  type HttpReply,
  TIMED_OUT,
  withTimeout,
} from './exchange.js';
export { AnswerField, MalformedField } from './answer-field.js';
export { HttpTransport, type HttpTransportOptions } from './http-transport.js';
