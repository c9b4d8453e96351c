/**
 * The properties of a node that is broker and controller in one, for one user on one machine. Where it is not alone
 * (`voters`: id and controller port of each node of the cluster), every topic is on all of them, and writing takes
 * all but one.
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
    // a topic that nobody created is a mistake that should show
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
    // a lone consumer need not wait for others to join
    'group.initial.rebalance.delay.ms': 0,
    // of 256 MB heap the default of 128 MB would be too much
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

/** Backslashes and colons of a path mean something in a properties file. */
function escaped(value) {
  return value.replace(/([\\:=])/g, '\\$1');
}
