/** The properties of a node that is broker and controller in one, for one user on one machine. */
export function serverProperties({ dataDir, port, controllerPort, listeners }) {
  const clients = [{ name: 'PLAINTEXT', protocol: 'PLAINTEXT', port }, ...listeners];
  const bound = clients.map(({ name, port }) => `${name}://127.0.0.1:${port}`);
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: [...bound, `CONTROLLER://127.0.0.1:${controllerPort}`].join(),
    'advertised.listeners': clients
      .map(({ name, host = '127.0.0.1', port }) => `${name}://${host}:${port}`)
      .join(),
    'listener.security.protocol.map': clients
      .map(({ name, protocol }) => `${name}:${protocol}`)
      .concat('CONTROLLER:PLAINTEXT')
      .join(),
    'log.dirs': escaped(dataDir),
    // a topic that nobody created is a mistake that should show
    'auto.create.topics.enable': false,
    'num.partitions': 1,
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    // a lone consumer need not wait for others to join
    'group.initial.rebalance.delay.ms': 0,
    // of 256 MB heap the default of 128 MB would be too much
    'log.cleaner.dedupe.buffer.size': 10_485_760,
  };
  return Object.entries({ ...properties, ...securityOf(listeners) })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

function securityOf(listeners) {
  return Object.fromEntries(
    listeners.flatMap(({ name, security }) =>
      Object.entries(security).map(([property, value]) => [
        `listener.name.${name.toLowerCase()}.${property}`,
        escaped(value),
      ]),
    ),
  );
}

/** Backslashes and colons of a path mean something in a properties file. */
function escaped(value) {
  return value.replace(/([\\:=])/g, '\\$1');
}
