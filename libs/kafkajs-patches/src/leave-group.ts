import { clusterOf } from './admin.js';

interface JoinRequest {
  groupId: string;
  memberId: string;
  /** Called with the id that the coordinator has given to a new member, before the member joins under it. */
  onMemberId?: (memberId: string) => void;
}

interface JoiningBroker {
  joinGroup(request: JoinRequest): Promise<unknown>;
}

export type JoiningBrokerClass = new (options: never) => JoiningBroker;

type Send = (request: object) => Promise<unknown>;
type Sender = Record<symbol, Send>;
const SEND = 'private:Broker:sendRequest';

/**
 * Passes the id of a new member to `onMemberId`. A coordinator refuses the first request to join, with an id for the
 * next one; kafkajs sends both without showing the id, so that only kafkajs itself could leave the group.
 */
export function withMemberIds(Base: JoiningBrokerClass): JoiningBrokerClass {
  const symbol = Object.getOwnPropertySymbols(Base.prototype).find(
    ({ description }) => description === SEND,
  );
  if (symbol === undefined) throw new Error('no such broker as in kafkajs 2.2.4');
  return class Broker extends Base {
    override joinGroup(request: JoinRequest): Promise<unknown> {
      const { onMemberId } = request;
      if (onMemberId === undefined) return super.joinGroup(request);
      const noting: Send = async (asked) => {
        try {
          return await (this as unknown as Sender)[symbol]?.(asked);
        } catch (error) {
          const { name, memberId } = error as { name: string; memberId: string };
          if (name === 'KafkaJSMemberIdRequired') onMemberId(memberId);
          throw error;
        }
      };
      const joining = Object.create(this, { [symbol]: { value: noting } }) as JoiningBroker;
      return super.joinGroup.call(joining, request);
    }
  };
}

interface Coordinator {
  leaveGroup(member: { groupId: string; memberId: string }): Promise<unknown>;
}

/**
 * Takes a member out of its group, over the connections of the admin: a coordinator answers one request of a
 * connection after the other, and that of the member may be waiting with its request to join. Does nothing to another
 * client's admin.
 */
export async function leaveGroup(
  admin: object,
  member: { groupId: string; memberId: string },
): Promise<void> {
  const { groupId } = member;
  const coordinator = await clusterOf(admin)?.findGroupCoordinator({ groupId });
  await (coordinator as unknown as Coordinator | undefined)?.leaveGroup(member);
}
