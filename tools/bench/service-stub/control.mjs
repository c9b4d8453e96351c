/** `GET /stub/report`, `GET /stub/lasts`, and `POST /stub/conduct`, which takes what StubService.conduct says. */
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
    case 'POST /stub/conduct':
      service.conduct = { ...service.conduct, ...JSON.parse(body) };
      return answer(service.conduct);
    default:
      return response.writeHead(404).end();
  }
}
