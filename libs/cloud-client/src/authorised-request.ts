import { ASKED_FOR, type HeaderList, type HttpRequest, type ServiceRequest } from './exchange.js';

interface OfToken {
  token: string;
  plain: HeaderList;
  json: HeaderList;
}

/** The service's path prefix, below whatever path the base URL has. */
export function apiPath(baseUrl: string): string {
  return `${new URL(baseUrl).pathname.replace(/\/+$/, '')}/api/v1`;
}

/** How an operation is sent: with its token as Bearer (interface: "Authentication"). */
export class AuthorisedRequests {
  /** Of the token that was used last: made once, not for every call. */
  private ofToken = ofToken('');

  /** @param basePath of the service, with `/api/v1` */
  constructor(private readonly basePath: string) {}

  of(request: ServiceRequest, token: string): HttpRequest {
    if (this.ofToken.token !== token) this.ofToken = ofToken(token);
    const { plain, json } = this.ofToken;
    return {
      path: this.pathOf(request),
      method: request.method,
      headers: request.body === undefined ? plain : json,
      body: request.body ? JSON.stringify(request.body) : null,
      token,
    };
  }

  private pathOf({ path, machineId }: ServiceRequest): string {
    const whole = `${this.basePath}/${path}`;
    if (machineId === undefined) return whole;
    // unlike encodeURIComponent this takes any string; a space as %20 is read alike by every server
    const query = new URLSearchParams({ machineId }).toString();
    return `${whole}?${query.replaceAll('+', '%20')}`;
  }
}

function ofToken(token: string): OfToken {
  const plain = [...ASKED_FOR, 'Authorization', `Bearer ${token}`];
  const json = [...plain, 'Content-Type', 'application/json'];
  return { token, plain, json };
}
