import { type HttpRequest, type ServiceRequest } from './exchange.js';

/** The service's path prefix, below whatever path the base URL has. */
export function apiPath(baseUrl: string): string {
  return `${new URL(baseUrl).pathname.replace(/\/+$/, '')}/api/v1`;
}

/** How an operation is sent: with its token as Bearer (interface: "Authentication"). */
export function authorisedRequest(
  basePath: string,
  request: ServiceRequest,
  token: string,
): HttpRequest {
  return {
    path: pathOf(basePath, request),
    method: request.method,
    headers: headersOf(request, token),
    ...(request.body ? { body: JSON.stringify(request.body) } : {}),
    secret: token,
  };
}

function pathOf(basePath: string, request: ServiceRequest): string {
  const path = `${basePath}/${request.path}`;
  if (request.machineId === undefined) return path;
  // unlike encodeURIComponent this takes any string; a space as %20 is read alike by every server
  const query = new URLSearchParams({ machineId: request.machineId }).toString();
  return `${path}?${query.replaceAll('+', '%20')}`;
}

function headersOf(request: ServiceRequest, token: string): Record<string, string> {
  return {
    Authorization: `Bearer ${token}`,
    ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
}
