/** Where in the input a message lies. */
export interface MessagePosition {
  partition: number;
  offset: number;
  /** Epoch milliseconds, of its record: the only thing by which messages of different partitions can be compared. */
  recordedAt: number;
}

/** Whether a message was sent before another, as far as Kafka can tell. */
export function isBefore(message: MessagePosition, other: MessagePosition): boolean {
  return message.partition === other.partition
    ? message.offset < other.offset
    : message.recordedAt < other.recordedAt;
}
