import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { CALLBACK_SECRET } from '../start/demo-senders.mjs';

const MOST_IDS = 10_000;

/** The ERP's receiver for callbacks of ingest: checks the signature and takes each id once. `print` gets the status. */
export async function receiveCallbacks({ port, print, signal }) {
  const taken = new Set();
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { 'webhook-id': id } = request.headers;
    if (!isSigned(request.headers, body)) return response.writeHead(401).end();
    if (!taken.has(id)) print(JSON.parse(body));
    taken.add(id);
    if (taken.size > MOST_IDS) taken.clear();
    return response.writeHead(204).end();
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  signal.addEventListener('abort', () => server.close());
}

function isSigned(headers, body) {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = `v1,${createHmac('sha256', CALLBACK_SECRET).update(signed).digest('base64')}`;
  const given = Buffer.from(headers['webhook-signature'] ?? '');
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected));
}
