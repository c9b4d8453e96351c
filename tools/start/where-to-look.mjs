/** What is printed once everything runs. */
export function whereToLook({
  seconds,
  sandboxUrl,
  bridgeUrl,
  terminalUrl,
  kafka,
  topicPrefix,
  apps,
}) {
  const logs = apps.map((app) => app.log).join('\n                   ');
  const topic = `${topicPrefix}machine.state-changes.v1`;
  // without it the command would also show what a transaction took back
  const options = '--isolation-level read_committed --from-beginning';
  return `
ready after ${seconds}

  terminal         ${terminalUrl}      explain a machine's stop, and see it applied
  bridge           ${bridgeUrl}/health/ready
                   ${bridgeUrl}/metrics
                   ${bridgeUrl}/api/machines
  sandbox          ${sandboxUrl}/openapi.json
                   ${sandboxUrl}/sandbox/machines/<machineId>
  Kafka            ${kafka.brokers} (${kafka.how})
  state changes    ${kafka.consumer} --topic ${topic} ${options}
  logs             ${logs}

Ctrl-C ends all of it.
`;
}
