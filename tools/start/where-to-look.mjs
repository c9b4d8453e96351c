/** The text that npm start prints once everything runs. */
export function whereToLook({
  seconds,
  sandboxUrl,
  bridgeUrl,
  terminalUrl,
  ingestUrl,
  kafka,
  topicPrefix,
  apps,
}) {
  const logs = apps.map((app) => app.log).join('\n                   ');
  const topic = `${topicPrefix}machine.state-changes.v1`;
  // without it the command would also show records of aborted transactions
  const options = '--isolation-level read_committed --from-beginning';
  return `
ready after ${seconds}

  terminal         ${terminalUrl}      explain a machine's stop, and see it applied
  bridge           ${bridgeUrl}/health/ready
                   ${bridgeUrl}/metrics
                   ${bridgeUrl}/api/machines
  sandbox          ${sandboxUrl}/openapi.json
                   ${sandboxUrl}/sandbox/machines/<machineId>
  ingest           ${ingestUrl}/openapi.json
    an order by HTTP, which becomes part of the list of M-001:
                   curl ${ingestUrl}/orders -H 'authorization: Bearer demo-ingest-token' \\
                     -H 'content-type: application/json' -H 'idempotency-key: 4711' \\
                     -d '{"orderId":"4711","changedAt":1763680000,"status":"released","operations":[{"operationId":"0010","machineId":"M-001","status":"released"}]}'
  Kafka            ${kafka.brokers} (${kafka.how})
  state changes    ${kafka.consumer} --topic ${topic} ${options}
  logs             ${logs}

Ctrl-C ends all of it.
`;
}
