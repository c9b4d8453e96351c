import type { JSX } from 'preact';
import { secondsOf, type Period } from '../model/periods.js';
import { firstSplit, lastSplit, snapSplit, splitAt } from '../model/split.js';
import { plantNow } from '../state/clock.js';
import { formats, strings } from '../state/store.js';
import { Icon } from './icons.js';
import { Button, Segments } from './controls.js';

/** A stop divided at a minute: dragged, or moved by arrow keys, or by buttons that a glove can press. */
export function SplitStrip(props: {
  period: Period;
  state: string;
  at: number;
  /** Receives the new time of the split as a function of the present one: taps may come faster than rendering. */
  onSplit: (next: (at: number) => number) => void;
  /** The part that the next reason is for. */
  part: 0 | 1;
  onPart: (part: 0 | 1) => void;
  /** Names of the reasons chosen for the parts. */
  chosen: readonly [string | null, string | null];
}): JSX.Element {
  const { period, state, at, onSplit, part, onPart, chosen } = props;
  const words = strings.value;
  const { time, span } = formats.value;
  const now = plantNow.value;
  const moveTo = (wanted: (at: number) => number): void =>
    onSplit((before) => snapSplit(wanted(before), period, plantNow.peek()));
  const parts = splitAt(period, at);
  return (
    <div class="split column">
      <div class="split-row row">
        <Button onClick={() => moveTo((before) => before - 60)}>
          −1 min
          <span class="visually-hidden">, {words.minuteEarlier}</span>
        </Button>
        <input
          class={`split-strip ${state}`}
          type="range"
          min={firstSplit(period)}
          max={lastSplit(period, now)}
          step={60}
          value={at}
          aria-label={words.splitAt}
          aria-valuetext={time(at)}
          onInput={({ currentTarget: { valueAsNumber } }) => moveTo(() => valueAsNumber)}
        />
        <Button onClick={() => moveTo((before) => before + 60)}>
          +1 min
          <span class="visually-hidden">, {words.minuteLater}</span>
        </Button>
      </div>
      <Segments kind="split-parts" label={words.split} of={[0, 1]} chosen={part} onChoose={onPart}>
        {(index) => {
          const { startTime, endTime } = parts[index];
          return (
            <>
              {chosen[index] !== null && <Icon name="check" />}
              <span>
                {time(startTime)}–{endTime === null ? words.now : time(endTime)} ·{' '}
                {span(secondsOf(parts[index], now))}
                {chosen[index] !== null && <b> {chosen[index]}</b>}
              </span>
            </>
          );
        }}
      </Segments>
    </div>
  );
}
