import { withDeadline } from '#libs/clock';
import { leaveGroup } from '#libs/kafkajs-patches';
import type { KafkaClient } from '../client/kafka-port.js';
import { withAdmin } from '../client/with-admin.js';

const LEAVE_DEADLINE_MS = 1000;

/**
 * A request to join the group that the coordinator has not answered, because other members are still draining their
 * calls. kafkajs cannot leave meanwhile. If the process ended all the same, the group would count it as joined; as the
 * group's leader it would keep all others from partitions until its session ended (13 s without a call in a group of
 * three, 1 s with this class; `leaving-group.e2e-spec.ts`).
 */
export class PendingJoin {
  private memberId: string | undefined;

  constructor(
    private readonly kafka: KafkaClient,
    private readonly groupId: string,
  ) {}

  joinsAs(memberId: string): void {
    this.memberId = memberId;
  }

  recordAssignment(): void {
    this.memberId = undefined;
  }

  /** Leaves the group if a request is pending; resolves after {@link LEAVE_DEADLINE_MS} at most. */
  async leaveGroup(): Promise<void> {
    const { kafka, groupId, memberId } = this;
    if (memberId === undefined) return;
    const left = withAdmin(kafka, (admin) => leaveGroup(admin, { groupId, memberId }));
    await withDeadline(left, LEAVE_DEADLINE_MS);
  }
}
