// A Machine Data Service that does next to nothing, in a separate process: it answers after a fixed time, counts, and
// fails on demand. Usage: node main.mjs <port> <machines> <latencyMs> <updateSeconds>
import { createServer } from 'node:http';
import { machineIdsOf } from '../load.mjs';
import { StubService } from './stub-service.mjs';

const [port, machines, latencyMs, updateSeconds] = process.argv.slice(2).map(Number);
const service = new StubService({ machineIds: machineIdsOf(machines), latencyMs, updateSeconds });

const server = createServer((request, response) => {
  const arrivedMs = performance.now();
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    if (request.url.startsWith('/stub/')) answerControl(request, body, response);
    else service.answer({ request, body, response, arrivedMs });
  });
});
// a connection that is idle between two rounds must not be closed while a call begins
server.keepAliveTimeout = 300_000;
server.requestTimeout = 0;
server.listen(port, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));

/**
 * Answers `GET /stub/report`, `/stub/lasts`, `/stub/answers` and `/stub/polls` (the rows of a PollLog), `POST
 * /stub/conduct`, which sets StubService.conduct, and `POST /stub/change`.
 */
function answerControl(request, body, response) {
  const answer = (value) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  switch (`${request.method} ${request.url}`) {
    case 'GET /stub/report':
      return answer(service.report());
    case 'GET /stub/lasts':
      return answer(service.lasts());
    case 'GET /stub/answers':
      return answer(service.answers());
    case 'GET /stub/polls':
      return response.writeHead(200).end(service.polls());
    case 'POST /stub/conduct':
      service.conduct = { ...service.conduct, ...JSON.parse(body) };
      return answer(service.conduct);
    case 'POST /stub/change':
      service.change(JSON.parse(body));
      return answer({});
    default:
      return response.writeHead(404).end();
  }
}
