import { type IHeaders } from 'kafkajs';

/** A message as it lies in Kafka, untouched, with all that is needed to answer for it. */
export interface InboundMessage {
  /** The topic's name without the prefix, as controllers name it. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since the epoch, as Kafka has it. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: IHeaders;
  /**
   * Aborts when this process stops or loses the partition: no further call may be started for the
   * message, which another process will receive again.
   */
  readonly signal: AbortSignal;
}

/** Handles one message to its end: returns when nothing is left to do for it and its offset may move. */
export type MessageHandler = (message: InboundMessage) => Promise<void>;
