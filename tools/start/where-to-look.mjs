/** What is printed once everything runs. */
export function whereToLook({ seconds, sandboxUrl, bridgeUrl, kafka, apps }) {
  const logs = apps.map((app) => app.log).join('\n                   ');
  return `
ready after ${seconds}

  bridge           ${bridgeUrl}/health/ready
                   ${bridgeUrl}/metrics
                   ${bridgeUrl}/api/machines
  sandbox          ${sandboxUrl}/openapi.json
                   ${sandboxUrl}/sandbox/machines/<machineId>
  Kafka            ${kafka.brokers} (${kafka.how})
  state changes    ${kafka.consumer} --topic machine.state-changes.v1 --from-beginning
  logs             ${logs}

Ctrl-C ends all of it.
`;
}
