import { FramedPayload } from './framed-payload.js';
import { type Encoded } from './kafkajs-encoder.js';
import { type KafkajsRequest } from './produce-request.js';

interface RequestToSend {
  correlationId: number;
  clientId: string;
  request: KafkajsRequest;
}

/** Makes of a request what is written to the socket. */
export type CreateRequest = (sent: RequestToSend) => Promise<Pick<Encoded, 'buffer'>>;

/** Sends from where it lies what has room for its head; kafkajs copies any other, the small ones, twice. */
export function withoutCopies(createRequest: CreateRequest): CreateRequest {
  return async (sent) => {
    const { correlationId, clientId, request } = sent;
    const { apiKey, apiVersion } = request;
    const payload = await request.encode();
    if (payload instanceof FramedPayload) {
      const buffer = payload.frame({ apiKey, apiVersion, correlationId, clientId });
      if (buffer !== undefined) return { buffer };
    }
    const encode = (): Promise<Encoded> => Promise.resolve(payload);
    return createRequest({ ...sent, request: { ...request, encode } });
  };
}
