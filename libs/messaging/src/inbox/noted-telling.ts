import { realEpochMs } from '#libs/clock';
import { AT_REST, type ToldUntil } from './commit-note.js';
import { type Telling } from './telling.js';

/**
 * Lets a partition tell of its messages as far as its commits say so. Nothing is told before a commit of this process
 * says that something may be: one from before may say that nothing is told.
 */
export class NotedTelling {
  /** What the last commit says of what is told, as far as that is certain; undefined before the first from here. */
  private noted: 'at rest' | 'telling' | undefined;
  private isAtRest = false;
  /** Epoch milliseconds since when something may have been told that no commit has in it. */
  private toldSinceMs = realEpochMs();
  /** Of offsets below this an earlier owner may have told something that is in no commit before all of them are finished. */
  private inheritedEnd = 0;

  constructor(
    private readonly telling: Telling,
    /** Called when something is to be told for which there has to be a commit. */
    onCommitWanted: () => void,
  ) {
    void telling.close();
    telling.onAwaited = () => {
      if (!this.isAtRest) onCommitWanted();
    };
  }

  /** An earlier owner may have told something since then of offsets before `end`; the next one has to know as well. */
  inherit(toldSinceMs: number, end: number): void {
    this.toldSinceMs = toldSinceMs;
    this.inheritedEnd = end;
  }

  /** Tells no more; resolves once what is being told has been, so that the next commit can say so. */
  async rest(): Promise<void> {
    this.isAtRest = true;
    await this.telling.close();
  }

  /** Tells again, from the moment at which no commit says otherwise any more. */
  endRest(): void {
    this.isAtRest = false;
    this.tellIfNoted();
  }

  /**
   * What a commit says of it that is made now.
   *
   * @param offset to be committed
   * @param isWhole whether the commit tells of all that has finished beyond it
   * @param nowMs epoch milliseconds up to which all of what was told the records have been acknowledged
   */
  toldUntil(offset: number, isWhole: boolean, nowMs: number): ToldUntil {
    const { telling } = this;
    const isAllIn = isWhole && offset >= this.inheritedEnd;
    // Of a message with several outcomes some may have been told, and others wait for a dead letter.
    if (isAllIn) this.toldSinceMs = Math.min(nowMs, telling.inPartSinceMs ?? nowMs);
    return isAllIn && this.isAtRest && telling.isQuiet ? AT_REST : this.toldSinceMs;
  }

  /** The commit is handed out; returns whether that says something new. */
  committing(toldUntil: ToldUntil): boolean {
    const says = wordsOf(toldUntil);
    const isNew = says !== this.noted;
    // From here on it may be in Kafka, whatever becomes of the request.
    if (says === 'at rest') this.noted = says;
    return isNew;
  }

  committed(toldUntil: ToldUntil): void {
    this.noted = wordsOf(toldUntil);
    this.tellIfNoted();
  }

  notCommitted(): void {
    this.noted = undefined;
  }

  private tellIfNoted(): void {
    if (!this.isAtRest && this.noted === 'telling') this.telling.open();
  }
}

function wordsOf(toldUntil: ToldUntil): 'at rest' | 'telling' {
  return toldUntil === AT_REST ? 'at rest' : 'telling';
}
