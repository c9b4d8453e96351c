import { realDelayMs } from '#libs/clock';
import type { PartitionedProducer } from '../partitioned-producer.js';
import {
  type Command,
  COMMAND_KINDS,
  commandId,
  type CommandKind,
  commandMessage,
  TOPIC_OF,
} from './commands.js';
import type { Sent } from './delivery-faults.js';

const ROUND_MS = 50;

/** Commands for many machines, numbered per machine and kind, sent once or in a steady stream. */
export class CommandLoad {
  private readonly counts: Record<CommandKind, Map<string, number>>;
  /** How many commands Kafka has stored. */
  storedCommands = 0;
  /** What the stream is doing, as text. */
  streamStatus = 'has not begun';
  private stopping: AbortController | undefined;
  private streaming: Promise<void> = Promise.resolve();
  private next = 0;

  constructor(
    private readonly producer: PartitionedProducer,
    private readonly topicPrefix: string,
    readonly machineIds: readonly string[],
  ) {
    const none = (): Map<string, number> => new Map(machineIds.map((id) => [id, 0]));
    this.counts = { list: none(), reason: none() };
  }

  /** How many commands of a kind Kafka has stored, by machine. */
  sent(kind: CommandKind): Sent {
    return this.counts[kind];
  }

  /** The `message-id` of every sent command. */
  get messageIds(): string[] {
    return COMMAND_KINDS.flatMap((kind) =>
      [...this.counts[kind]].flatMap(([machineId, count]) =>
        Array.from({ length: count }, (_, number) => commandId({ kind, machineId, number })),
      ),
    );
  }

  /** Sends the next commands of each kind, `rounds` of them to each of the machines, in one request. */
  async send(
    machineIds: readonly string[] = this.machineIds,
    kinds: readonly CommandKind[] = COMMAND_KINDS,
    rounds = 1,
    signal?: AbortSignal,
  ): Promise<void> {
    const commands = Array.from({ length: rounds }, (_, round) =>
      kinds.flatMap((kind) =>
        machineIds.map((machineId) => {
          return { kind, machineId, number: round + (this.counts[kind].get(machineId) ?? 0) };
        }),
      ),
    ).flat();
    await this.deliver(commands, signal);
    for (const { kind, machineId, number } of commands) {
      this.counts[kind].set(machineId, number + 1);
    }
    this.storedCommands += commands.length;
  }

  /** Sends to a few machines a round, all in turn, until {@link stop}; waits while Kafka is away. */
  start({ perSecond }: { perSecond: number }): void {
    const stopping = new AbortController();
    this.stopping = stopping;
    const perRound = Math.max(1, Math.round((perSecond * ROUND_MS) / 1000));
    this.streamStatus = 'goes on';
    this.streaming = (async () => {
      while (!stopping.signal.aborted) {
        await this.send(this.turn(perRound), COMMAND_KINDS, 1, stopping.signal);
        await realDelayMs(ROUND_MS);
      }
    })();
    // the caller of `stop` gets the error; until then nobody waits for it
    this.streaming.then(
      () => (this.streamStatus = 'was stopped'),
      (error: unknown) => (this.streamStatus = `has failed: ${String(error)}`),
    );
  }

  /** @throws the error that ended the stream early */
  async stop(): Promise<void> {
    this.stopping?.abort();
    await this.streaming;
  }

  private turn(length: number): string[] {
    const { machineIds } = this;
    const turn = Array.from({ length: Math.min(length, machineIds.length) }, (_, index) => {
      return machineIds[(this.next + index) % machineIds.length] ?? '';
    });
    this.next = (this.next + length) % machineIds.length;
    return turn;
  }

  private async deliver(commands: readonly Command[], signal?: AbortSignal): Promise<void> {
    const topicMessages = COMMAND_KINDS.map((kind) => ({
      topic: `${this.topicPrefix}${TOPIC_OF[kind]}`,
      messages: commands.filter((command) => command.kind === kind).map(commandMessage),
    })).filter(({ messages }) => messages.length > 0);
    await Promise.all(topicMessages.map((of) => this.producer.send({ ...of, signal })));
  }
}
