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
export { AnswerField, MalformedField } from './answer-field.js';
export {
  ASKED_FOR,
  type CallDurations,
  type Exchange,
  type HeaderList,
  type HttpCaller,
  type HttpReply,
  type HttpRequest,
  HttpTransport,
  type HttpTransportOptions,
} from './http-transport.js';
