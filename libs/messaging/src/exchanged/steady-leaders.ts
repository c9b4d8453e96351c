/** As much of kafkajs's cluster as tells which broker leads what. */
interface Cluster {
  findLeaderForPartitions: (topic: string, partitions: readonly number[]) => object;
}

interface Sending {
  cluster: Cluster;
}

/** Makes what sends messages of one producer, and tries again by itself. */
export type CreateSend = (options: Sending) => (request: never) => Promise<unknown>;

/**
 * Refuses to take a send for done in the course of which a partition got another leader. When kafkajs tries again it
 * passes over brokers that have answered already, also what has come under their lead since: that was never sent,
 * and counts as acknowledged.
 */
export function withSteadyLeaders(createSend: CreateSend): CreateSend {
  return (options) => async (request) => {
    const leaders = new LeadersOfSend(options.cluster);
    const answers = await createSend({ ...options, cluster: leaders.cluster })(request);
    const { moved } = leaders;
    if (moved === undefined) return answers;
    throw new Error(`a partition of ${moved} got another leader while it was written to`);
  };
}

class LeadersOfSend {
  readonly cluster: Cluster;
  /** A topic with such a partition. */
  moved: string | undefined;
  private readonly byTopic = new Map<string, string>();

  constructor(private readonly known: Cluster) {
    const find = this.find.bind(this);
    // a cluster keeps state, and other methods of its own change that
    this.cluster = new Proxy(known, {
      get: (cluster, name) =>
        name === 'findLeaderForPartitions' ? find : (Reflect.get(cluster, name) as unknown),
    });
  }

  private find(topic: string, partitions: readonly number[]): object {
    const found = this.known.findLeaderForPartitions(topic, partitions);
    const leaders = JSON.stringify(found);
    const before = this.byTopic.get(topic) ?? leaders;
    if (before !== leaders) this.moved = topic;
    this.byTopic.set(topic, before);
    return found;
  }
}
