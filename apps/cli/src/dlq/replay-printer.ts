import { print } from '../command-line/terminal.js';
import { LETTER_LINE_HEADING, letterLine } from './letter-line.js';
import { type PlannedReplay } from './plan-replay.js';
import { NOTHING_REPLAYED, type ReplayStep, type ReplayTally, withStep } from './replay-tally.js';
import { placeOf } from './stored-letter.js';
import { visible } from '../command-line/visible-text.js';

/** There may be millions: the first ones show what is meant. */
const MAX_LINES = 20;

/** Says what becomes of letters while they are gone through, and keeps count. */
export class ReplayPrinter {
  tally: ReplayTally = NOTHING_REPLAYED;
  private planned = 0;

  showPlanned(replays: readonly PlannedReplay[]): void {
    for (const { letter } of replays) {
      this.planned += 1;
      if (this.planned === 1) print(LETTER_LINE_HEADING);
      if (this.planned <= MAX_LINES) print(letterLine(letter));
      if (this.planned === MAX_LINES + 1) print('…');
    }
  }

  count(step: ReplayStep): void {
    const room = Math.max(0, MAX_LINES - this.tally.impossible);
    for (const { letter, why } of step.impossible.slice(0, room)) {
      print(`${placeOf(letter)} cannot be replayed: ${visible(why)}`);
    }
    this.tally = withStep(this.tally, step);
  }
}
