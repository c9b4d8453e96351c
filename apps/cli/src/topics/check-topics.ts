import type { BridgeTopic } from '#libs/contracts';
import type { TopicDescription } from '#libs/kafka';
import type { Finding } from '../command-line/findings.js';
import { counted } from '../command-line/output.js';

const UNLIMITED = '-1';

export interface TopicCheck {
  planned: readonly BridgeTopic[];
  actual: ReadonlyMap<string, TopicDescription>;
  /** Why the brokers would not create a missing one, in words. */
  refused: ReadonlyMap<string, string>;
  /** `KAFKA_CREATE_TOPICS`. */
  createTopics: boolean;
}

/** Checks the topics as they are against the plan, one finding a topic at least. */
export function checkTopics({ planned, actual, ...missing }: TopicCheck): Finding[] {
  return planned.flatMap((topic) => {
    const found = actual.get(topic.name);
    const check = `topic ${topic.name}`;
    if (found === undefined) return [missingTopic(topic, check, missing)];
    const findings = [
      policyFinding(topic, found),
      widthFinding(topic, found, actual),
      replicasFinding(found),
      sizeFinding(topic, found, actual),
    ].flatMap((finding) => (finding === undefined ? [] : [{ check, ...finding }]));
    if (findings.length > 0) return findings;
    return [{ check, status: 'ok', detail: describeTopic(found) }];
  });
}

/** Partitions, replicas and configuration on one line. */
function describeTopic({ partitions, replicas, config }: TopicDescription): string {
  const known = [...config].map(([name, value]) => `${name}=${value}`);
  const rest = known.length === 0 ? ['configuration not readable'] : known;
  return [counted(partitions, 'partition'), counted(replicas, 'replica'), ...rest].join(', ');
}

function missingTopic(
  { name, isNeeded }: BridgeTopic,
  check: string,
  { refused, createTopics }: Pick<TopicCheck, 'refused' | 'createTopics'>,
): Finding {
  const why = refused.get(name);
  if (why !== undefined) {
    return {
      check,
      status: isNeeded ? 'fail' : 'warn',
      detail: `is missing, and the brokers would not create it: ${why}`,
      remedy: 'grant the right, or create it by hand as `machine-bridge topics` lists it',
    };
  }
  if (createTopics) {
    return {
      check,
      status: 'warn',
      detail: 'is missing',
      remedy: 'nothing: the bridge creates it at its start; or run `machine-bridge topics create`',
    };
  }
  return {
    check,
    status: isNeeded ? 'fail' : 'warn',
    detail: 'is missing, or the right to Describe it is; KAFKA_CREATE_TOPICS is false',
    remedy: 'run `machine-bridge topics create` with a login that may, or grant Describe',
  };
}

type TopicFinding = Omit<Finding, 'check'> | undefined;

function policyFinding({ cleanupPolicy }: BridgeTopic, { config }: TopicDescription): TopicFinding {
  const policy = config.get('cleanup.policy');
  if (policy === undefined) {
    return {
      status: 'warn',
      detail: 'its configuration may not be read',
      remedy: 'grant DescribeConfigs on it, which this check alone needs',
    };
  }
  const policies = policy.split(',').map((each) => each.trim());
  const isLimited = ['retention.ms', 'retention.bytes'].some(
    (name) => config.get(name) !== UNLIMITED,
  );
  if (cleanupPolicy === 'delete') {
    if (!policies.includes('compact')) return undefined;
    return {
      status: 'fail',
      detail: `cleanup.policy is ${policy}: compaction removes messages of the same key`,
      remedy: 'set cleanup.policy=delete',
    };
  }
  if (policies.includes('delete') && isLimited) {
    return {
      status: 'fail',
      detail: `cleanup.policy is ${policy} with a retention: what it is to keep is deleted`,
      remedy:
        cleanupPolicy === 'compact'
          ? 'set cleanup.policy=compact'
          : 'set cleanup.policy=[compact,delete],retention.ms=-1,retention.bytes=-1',
    };
  }
  if (cleanupPolicy === 'compact,delete' && !policies.includes('delete')) {
    return {
      status: 'warn',
      detail: 'cleanup.policy is compact: it is shortened by tombstones, which costs more',
      remedy: 'set cleanup.policy=[compact,delete],retention.ms=-1,retention.bytes=-1',
    };
  }
  return undefined;
}

function widthFinding(
  { asWideAs = [] }: BridgeTopic,
  { partitions }: TopicDescription,
  actual: TopicCheck['actual'],
): TopicFinding {
  const wider = asWideAs.find((name) => (actual.get(name)?.partitions ?? 0) > partitions);
  if (wider === undefined) return undefined;
  return {
    status: 'warn',
    detail: `has ${partitions} partitions, fewer than ${wider}`,
    remedy: 'nothing: the bridge adds them at its start, for which it needs Alter on this topic',
  };
}

function replicasFinding({ replicas, config }: TopicDescription): TopicFinding {
  const inSync = Number(config.get('min.insync.replicas') ?? 1);
  if (inSync > replicas) {
    return {
      status: 'fail',
      detail: `min.insync.replicas is ${inSync} and there are ${replicas} replicas: nothing can be written`,
      remedy: 'add replicas, or lower min.insync.replicas',
    };
  }
  if (replicas > 1 && inSync === 1) {
    return {
      status: 'warn',
      detail: `min.insync.replicas is 1 of ${replicas}: what one broker has acknowledged may be lost with it`,
      remedy: `set min.insync.replicas=${replicas - 1}`,
    };
  }
  if (replicas > 1 && inSync === replicas) {
    return {
      status: 'warn',
      detail: `min.insync.replicas is ${inSync} of ${replicas}: one broker away stops all writes`,
      remedy: `set min.insync.replicas=${replicas - 1}`,
    };
  }
  return undefined;
}

/**
 * A dead letter is its input plus headers. The queues of the bridge itself are planned as large as their dead letters,
 * since only a bug makes any.
 */
function sizeFinding(
  { name, direction }: BridgeTopic,
  { config }: TopicDescription,
  actual: TopicCheck['actual'],
): TopicFinding {
  const input = actual.get(name.replace(/\.dlq$/, ''));
  const [own, ofInput] = [config, input?.config].map((each) =>
    Number(each?.get('max.message.bytes')),
  );
  if (!name.endsWith('.dlq') || own === undefined || ofInput === undefined) return undefined;
  if (!(own < ofInput || (own === ofInput && direction !== 'internal'))) return undefined;
  return {
    status: 'warn',
    detail: `max.message.bytes is ${own}, that of its input ${ofInput}: dead letters may lack their value`,
    remedy: `set max.message.bytes=16777216`,
  };
}
