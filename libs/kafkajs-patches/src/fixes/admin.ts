import { askForStable, type CoordinatedCluster } from './stable-offsets.js';

interface Cluster extends CoordinatedCluster {
  isolationLevel?: number | undefined;
}

export type CreateAdmin = (options: { cluster: Cluster }) => object;

const READ_UNCOMMITTED = 0;
const clusters = new WeakMap<object, Cluster>();

/** Remembers the cluster of an admin, for {@link readEndsUncommitted} and {@link readStableOffsets}. */
export function withItsCluster(createAdmin: CreateAdmin): CreateAdmin {
  return (options) => {
    const admin = createAdmin(options);
    clusters.set(admin, options.cluster);
    return admin;
  };
}

/**
 * Has an admin take for a partition's end that of all its records. kafkajs asks for that of what is committed: where a
 * transaction stays open, nothing behind its first record seems to be there. Does nothing to another client's admin.
 */
export function readEndsUncommitted(admin: object): void {
  const cluster = clusters.get(admin);
  if (cluster !== undefined) cluster.isolationLevel = READ_UNCOMMITTED;
}

/**
 * Has an admin leave out of the offsets of groups those that a transaction is about to set. Does nothing to another
 * client's admin.
 */
export function readStableOffsets(admin: object): void {
  const cluster = clusters.get(admin);
  if (cluster !== undefined) askForStable(cluster);
}
