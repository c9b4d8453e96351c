/**
 * Answers `GET /stub/report`, `/stub/lasts`, `/stub/answers` and `/stub/polls` (the rows of a PollLog), `POST
 * /stub/conduct`, which sets StubService.conduct, and `POST /stub/change`.
 */
export function answerControl(service, request, body, response) {
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
