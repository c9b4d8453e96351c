import { FinishedAhead } from '#libs/delivery';

/** Nothing is told any more of messages that are not finished by now. */
export const AT_REST = 'rest';

/**
 * Up to when all that has been told of messages is in the commit: epoch milliseconds of the process that
 * told it, or {@link AT_REST}.
 */
export type ToldUntil = number | typeof AT_REST;

/** What a commit says beside its offset, for whoever owns the partition next. */
export interface CommitNote {
  finished: FinishedAhead | undefined;
  /** Undefined when the commit does not say, as one made by hand. */
  toldUntil: ToldUntil | undefined;
}

const FORM = /^told\/1 (rest|[0-9a-z]{1,11})(?: (.+))?$/;

/** @param ahead the metadata of {@link FinishedAhead.compose}; may be empty */
export function writeNote(ahead: string, toldUntil: ToldUntil): string {
  const until = toldUntil === AT_REST ? AT_REST : toldUntil.toString(36);
  return `told/1 ${until}${ahead === '' ? '' : ` ${ahead}`}`;
}

export function readNote(committed: number, metadata: string | null): CommitNote {
  const [, until, ahead] = FORM.exec(metadata ?? '') ?? [];
  return {
    finished: FinishedAhead.read(committed, ahead ?? null),
    toldUntil: until === undefined || until === AT_REST ? until : parseInt(until, 36),
  };
}
