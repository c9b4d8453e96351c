/**
 * The properties of a node that is broker and controller in one, for one user on one computer. In a cluster (`voters`:
 * id and controller port of each node), every topic is on all nodes, and a write needs all but one.
 */
export function serverProperties({
  dataDir,
  port,
  id,
  controllerPort,
  voters,
  listeners,
  further = {},
}) {
  const clients = [{ name: 'PLAINTEXT', protocol: 'PLAINTEXT', port }, ...listeners];
  const bound = clients.map(({ name, port }) => `${name}://127.0.0.1:${port}`);
  const copies = voters.length;
  const copiesNeeded = Math.max(1, copies - 1);
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': id,
    'controller.quorum.voters': voters
      .map((voter) => `${voter.id}@127.0.0.1:${voter.controllerPort}`)
      .join(),
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
    // a topic that nobody created is a mistake, which should show
    'auto.create.topics.enable': false,
    'num.partitions': 1,
    'default.replication.factor': copies,
    'min.insync.replicas': copiesNeeded,
    // spread over all nodes: each coordinates some groups and transactions
    'offsets.topic.num.partitions': copies,
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.num.partitions': copies,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': copiesNeeded,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': copiesNeeded,
    // a single consumer need not wait for others to join
    'group.initial.rebalance.delay.ms': 0,
    // the default of 128 MB would be too much for a heap of 256 MB
    'log.cleaner.dedupe.buffer.size': 10_485_760,
  };
  return Object.entries({ ...properties, ...securityOf(listeners), ...further })
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

/** In a properties file, backslashes and colons of a path have a meaning. */
function escaped(value) {
  return value.replace(/([\\:=])/g, '\\$1');
}
