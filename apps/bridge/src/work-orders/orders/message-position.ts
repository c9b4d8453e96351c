/** Where in the input a message lies. */
export interface MessagePlace {
  partition: number;
  offset: number;
}

export interface MessagePosition extends MessagePlace {
  /** Epoch milliseconds, of its record: the only thing by which messages of different partitions can be compared. */
  recordedAt: number;
}

/** The same message, maybe delivered again. */
export function isSame(message: MessagePlace, other: MessagePlace): boolean {
  return message.partition === other.partition && message.offset === other.offset;
}

/** The same message, delivered again: another one that lies where it has lain, in a topic made anew, has another time. */
export function isSameRecord(message: MessagePosition, other: MessagePosition): boolean {
  return isSame(message, other) && message.recordedAt === other.recordedAt;
}

/** Whether a message was sent before another, as far as Kafka can tell. */
export function isBefore(message: MessagePosition, other: MessagePosition): boolean {
  return message.partition === other.partition
    ? message.offset < other.offset
    : message.recordedAt < other.recordedAt;
}
