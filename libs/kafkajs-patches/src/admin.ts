import { askForStable, type CoordinatedCluster } from './stable-offsets.js';

interface Cluster extends CoordinatedCluster {
  isolationLevel?: number | undefined;
}

export type CreateAdmin = (options: { cluster: Cluster }) => object;

const READ_UNCOMMITTED = 0;
const clusters = new WeakMap<object, Cluster>();

/** Remembers the cluster of an admin, for the functions below, and for others by {@link clusterOf}. */
export function withItsCluster(createAdmin: CreateAdmin): CreateAdmin {
  return (options) => {
    const admin = createAdmin(options);
    clusters.set(admin, options.cluster);
    return admin;
  };
}

/** The cluster of an admin; undefined for another client's. */
export function clusterOf(admin: object): Cluster | undefined {
  return clusters.get(admin);
}

/**
 * Makes an admin return the end of all records as a partition's end. kafkajs returns the last stable offset: behind
 * an open transaction a partition seems empty. Does nothing to another client's admin.
 */
export function readEndsUncommitted(admin: object): void {
  const cluster = clusters.get(admin);
  if (cluster !== undefined) cluster.isolationLevel = READ_UNCOMMITTED;
}

/**
 * Makes an admin leave out group offsets that a transaction is about to set. Does nothing to another client's admin.
 */
export function readStableOffsets(admin: object): void {
  const cluster = clusters.get(admin);
  if (cluster !== undefined) askForStable(cluster);
}
