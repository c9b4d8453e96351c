/** As much of kafkajs's cluster as what manages a producer's transactions uses, and a broker by its id. */
interface Cluster {
  readonly retry: unknown;
  refreshMetadataIfNecessary: () => Promise<void>;
  findControllerBroker: () => Promise<Broker>;
  findBroker: (broker: { nodeId: Broker['nodeId'] }) => Promise<Broker>;
  findGroupCoordinator: (asked: AskedCoordinator) => Promise<Broker>;
}

interface Broker {
  readonly nodeId: string | number;
}

interface AskedCoordinator {
  groupId: string;
  coordinatorType?: number;
}

interface ManagerOptions {
  cluster: Cluster;
}

type ManagerMethod = (...given: never[]) => unknown;
type Manager = Record<(typeof REQUESTS)[number], ManagerMethod>;

/** Makes what manages the transactions of one producer. */
export type CreateManager = (options: ManagerOptions) => Manager;

/** What of a manager's methods asks a coordinator. */
const REQUESTS = [
  'initProducerId',
  'addPartitionsToTransaction',
  'sendOffsets',
  'commit',
  'abort',
] as const;

/**
 * Keeps in mind which brokers coordinate a producer's transactions and the group that it commits offsets for, until a
 * request to one of them fails. kafkajs asks before each request: four times a transaction, nearly half of all that
 * goes back and forth for it.
 */
export function withCachedCoordinator(createManager: CreateManager): CreateManager {
  return (options) => {
    const cluster = new CoordinatorCache(options.cluster);
    const manager = createManager({ ...options, cluster });
    for (const name of REQUESTS) manager[name] = cluster.watch(manager[name]);
    return manager;
  };
}

class CoordinatorCache implements Cluster {
  readonly retry: unknown;
  private readonly known = new Map<string, Broker['nodeId']>();
  /** Those of the request under way, which has not been answered yet. */
  private readonly asked = new Map<string, Broker['nodeId']>();

  constructor(private readonly cluster: Cluster) {
    this.retry = cluster.retry;
  }

  refreshMetadataIfNecessary(): Promise<void> {
    return this.cluster.refreshMetadataIfNecessary();
  }

  findControllerBroker(): Promise<Broker> {
    return this.cluster.findControllerBroker();
  }

  findBroker(broker: { nodeId: Broker['nodeId'] }): Promise<Broker> {
    return this.cluster.findBroker(broker);
  }

  async findGroupCoordinator(asked: AskedCoordinator): Promise<Broker> {
    const of = `${asked.coordinatorType ?? ''}/${asked.groupId}`;
    // a request that asks twice tries again, as it was not the coordinator that it was given
    const known = this.asked.has(of) ? undefined : await this.knownBroker(of);
    const broker = known ?? (await this.cluster.findGroupCoordinator(asked));
    this.asked.set(of, broker.nodeId);
    return broker;
  }

  /** Connected again if need be; undefined if there is none that can be. */
  private async knownBroker(of: string): Promise<Broker | undefined> {
    const nodeId = this.known.get(of);
    if (nodeId === undefined) return undefined;
    try {
      return await this.cluster.findBroker({ nodeId });
    } catch {
      return undefined;
    }
  }

  /** Believes who has answered, and nobody any more once a request has failed. */
  watch(request: ManagerMethod): ManagerMethod {
    return async (...given) => {
      this.asked.clear();
      try {
        const answer = await request(...given);
        for (const [of, nodeId] of this.asked) this.known.set(of, nodeId);
        return answer;
      } catch (error) {
        if (!isFromCoordinator(error)) this.known.clear();
        throw error;
      }
    };
  }
}

/** It is still at the end of the transaction before, as it often is for some milliseconds. */
function isFromCoordinator(error: unknown): boolean {
  return (error as { type?: unknown } | null)?.type === 'CONCURRENT_TRANSACTIONS';
}
