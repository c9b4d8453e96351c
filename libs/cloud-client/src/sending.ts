import { type AxiosRequestConfig } from 'axios';
import { type CallEnd } from './timeout.js';
import { type HttpRequest } from './exchange.js';

/** One request on its way. A class, because axios would copy a plain object, its headers and its body. */
export class Sending {
  constructor(
    readonly request: HttpRequest,
    readonly end: CallEnd,
  ) {}
}

/**
 * What axios is given for a request: it copies, normalises and checks every field and header that it
 * knows, for each call, which costs more than to send it.
 */
export interface SendingConfig extends AxiosRequestConfig {
  sending: Sending;
}
