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

const TRANSACTION = 1;
/** What of a manager's methods asks the coordinator. */
const REQUESTS = [
  'initProducerId',
  'addPartitionsToTransaction',
  'sendOffsets',
  'commit',
  'abort',
] as const;

/**
 * Keeps in mind which broker coordinates a producer's transactions, until a request to it fails. kafkajs asks before
 * each of them: twice a transaction, two fifths of all that goes back and forth for it.
 */
export function withCachedCoordinator(createManager: CreateManager): CreateManager {
  return (options) => {
    const cluster = new CoordinatorCache(options.cluster);
    const manager = createManager({ ...options, cluster });
    for (const name of REQUESTS) manager[name] = cluster.watch(manager[name]);
    const { initProducerId } = manager;
    manager.initProducerId = (...given) => {
      // it goes on asking by itself until the coordinator is the one
      cluster.forget();
      return initProducerId(...given);
    };
    return manager;
  };
}

class CoordinatorCache implements Cluster {
  readonly retry: unknown;
  private found: Broker['nodeId'] | undefined;
  private known: Broker['nodeId'] | undefined;

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
    if (asked.coordinatorType !== TRANSACTION) return this.cluster.findGroupCoordinator(asked);
    const known = await this.knownBroker();
    if (known !== undefined) return known;
    const broker = await this.cluster.findGroupCoordinator(asked);
    this.found = broker.nodeId;
    return broker;
  }

  /** Connected again if need be; undefined if there is none that can be. */
  private async knownBroker(): Promise<Broker | undefined> {
    if (this.known === undefined) return undefined;
    try {
      return await this.cluster.findBroker({ nodeId: this.known });
    } catch {
      return undefined;
    }
  }

  forget(): void {
    this.found = undefined;
    this.known = undefined;
  }

  /** Believes what was found once it has answered, and no more once a request has failed. */
  watch(request: ManagerMethod): ManagerMethod {
    return async (...given) => {
      try {
        const answer = await request(...given);
        this.known = this.found;
        return answer;
      } catch (error) {
        if (!isFromCoordinator(error)) this.forget();
        throw error;
      }
    };
  }
}

/** It is still at the end of the transaction before, as it often is for some milliseconds. */
function isFromCoordinator(error: unknown): boolean {
  return (error as { type?: unknown } | null)?.type === 'CONCURRENT_TRANSACTIONS';
}
