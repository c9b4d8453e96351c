import { type OutcomeSource } from '#libs/contracts';

type Place = Pick<OutcomeSource, 'topic' | 'partition'>;
type Source = Place & Pick<OutcomeSource, 'offset'>;

/** Of which messages, and of which of their machines, an outcome was told before. */
export class ToldBefore {
  /** By topic and partition of the message. */
  private readonly told = new Map<string, Set<string>>();

  add(source: Source, machineId: string | null): void {
    const key = keyOf(source);
    const told = this.told.get(key) ?? new Set();
    this.told.set(key, told.add(entryOf(source.offset, machineId)));
  }

  has(source: Source, machineId: string | null): boolean {
    return this.told.get(keyOf(source))?.has(entryOf(source.offset, machineId)) === true;
  }

  /** Whether it is there; it is not any more then. */
  take(source: Source, machineId: string | null): boolean {
    // Asked for every message: most of the time there is nothing to compare with.
    if (this.told.size === 0) return false;
    const told = this.told.get(keyOf(source));
    if (told === undefined) return false;
    const wasTold = told.delete(entryOf(source.offset, machineId));
    if (told.size === 0) this.told.delete(keyOf(source));
    return wasTold;
  }

  forget(partition: Place): void {
    this.told.delete(keyOf(partition));
  }

  forgetTopic(topic: string): void {
    for (const key of this.told.keys()) if (key.startsWith(`${topic}/`)) this.told.delete(key);
  }
}

function keyOf({ topic, partition }: Place): string {
  return `${topic}/${partition}`;
}

function entryOf(offset: number, machineId: string | null): string {
  return JSON.stringify([offset, machineId]);
}
