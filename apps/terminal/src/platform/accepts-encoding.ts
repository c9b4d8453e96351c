import type { FastifyRequest } from 'fastify';

/** Whether the request accepts the encoding; a weight of 0 refuses it. */
export function acceptsEncoding({ headers }: FastifyRequest, encoding: string): boolean {
  const offers = (headers['accept-encoding'] ?? '').toLowerCase().split(',');
  return offers.some((offer) => {
    const [name, ...parameters] = offer.split(';').map((part) => part.trim());
    return name === encoding && !parameters.some((part) => /^q=0(\.0*)?$/.test(part));
  });
}
