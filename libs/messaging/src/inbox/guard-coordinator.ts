import { type Cluster } from '../kafkajs.js';

/** In kafkajs but not in its types: what its consumer asks of the group's coordinator. */
interface Coordinator {
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
  syncGroup(request: { generationId: number }): Promise<unknown>;
}
interface CoordinatedCluster {
  findBroker(request: { nodeId: string }): Promise<Coordinator>;
}

export interface CoordinatorGuard {
  /** A consumer that crashes leaves the group by itself, which hands its partitions on, and says so only afterwards. */
  beforeLeave: () => Promise<void>;
  /** Before a member that has joined asks for what it is assigned in a generation of the group. */
  beforeSync: (generation: number) => void;
}

/** Asks the guard before a consumer tells the group's coordinator what cannot be taken back. */
export function guardCoordinator(cluster: Cluster, guard: CoordinatorGuard): void {
  const coordinated = cluster as unknown as CoordinatedCluster;
  const guarded = new WeakSet<Coordinator>();
  const find = coordinated.findBroker.bind(cluster);
  coordinated.findBroker = async (request) => {
    const broker = await find(request);
    if (guarded.has(broker)) return broker;
    guarded.add(broker);
    const leaveGroup = broker.leaveGroup.bind(broker);
    const syncGroup = broker.syncGroup.bind(broker);
    broker.leaveGroup = async (leaving) => {
      await guard.beforeLeave();
      return leaveGroup(leaving);
    };
    broker.syncGroup = (request) => {
      guard.beforeSync(request.generationId);
      return syncGroup(request);
    };
    return broker;
  };
}
