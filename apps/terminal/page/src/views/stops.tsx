import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { openSheet, selection, sheet } from '../state/actions.js';
import {
  compareRows,
  heldRows,
  type RowOrder,
  type StopRow,
  stopRows,
} from '../model/stop-rows.js';
import { outgoing } from '../state/outbox.js';
import { Icon } from '../parts/icons.js';
import { StopItem, targetOf } from '../parts/stop-item.js';
import { useGrowing } from '../parts/use-growing.js';
import { plantMinute, plantNow, tick } from '../state/clock.js';
import { factoryId, formats, link, session, strings, tiles } from '../state/store.js';
import { Button, FactoryChoice, NoMachines, Segments } from '../parts/controls.js';

/** More than anyone explains in a shift; the others are only counted. */
const MAX_ROWS = 150;
/** Rows drawn in the first frame, and added with each of the next. */
const ROWS_A_FRAME = 30;
/** Rows keep their places for this time after a touch. */
const HOLD_MS = 4_000;

const order = signal<RowOrder>('newest');

const chosenTiles = computed(() =>
  tiles.value.filter((tile) => factoryId.value === null || tile.factoryId === factoryId.value),
);

const rows = computed(() => stopRows(chosenTiles.value, outgoing.value, tick.value));

export const openCount = computed(
  () => rows.value.filter(({ unexplained }) => unexplained.length > 0).length,
);

const sorted = computed(() => [...rows.value].sort(compareRows(order.value, plantNow.peek())));

const shortStops = computed(() => {
  return chosenTiles.value.reduce(
    (sum, { shortStops: { count, seconds } }) => ({
      count: sum.count + count,
      seconds: sum.seconds + seconds,
    }),
    { count: 0, seconds: 0 },
  );
});

export function Stops(): JSX.Element {
  const words = strings.value;
  const { list, more, release, holdProps } = useHeldRows();
  const picked = selection.value;
  const inView = list.slice(0, MAX_ROWS);
  const drawn = useGrowing(
    inView.map(({ key }) => key),
    ROWS_A_FRAME,
  );
  useEffect(() => clearSelection, []);
  const chosen = list.filter(
    ({ key, unexplained }) => picked?.has(key) === true && unexplained.length > 0,
  );
  const toggle = (key: string): void => {
    const next = new Set(picked);
    if (!next.delete(key)) next.add(key);
    selection.value = next;
  };
  return (
    <section class="stops" aria-label={words.needsReason}>
      <h1 class="visually-hidden">{words.needsReason}</h1>
      <div class="filters row">
        <FactoryChoice />
        <Segments
          label={words.order}
          of={['newest', 'longest']}
          chosen={order.value}
          onChoose={(by: RowOrder) => (order.value = by)}
        >
          {(by) => (by === 'newest' ? words.newestFirst : words.longestFirst)}
        </Segments>
        <Button
          icon={picked ? 'cross' : 'several'}
          aria-pressed={picked !== null}
          onClick={() => (selection.value = picked ? null : new Set())}
        >
          {picked ? words.cancel : words.selectSeveral}
        </Button>
        <span class="more-stops" role="status">
          {more > 0 && <Button onClick={release}>{words.moreStops(more)}</Button>}
        </span>
      </div>
      {list.length > 0 ? (
        <ul class="stop-list column" {...holdProps}>
          {inView
            .filter(({ key }) => drawn.has(key))
            .map((row) => (
              <StopItem
                key={row.key}
                row={row}
                selected={picked ? picked.has(row.key) : undefined}
                onToggle={() => toggle(row.key)}
              />
            ))}
        </ul>
      ) : (
        <NothingToExplain />
      )}
      {list.length > MAX_ROWS && (
        <p class="left-out pale">{words.stopsLeftOut(list.length - MAX_ROWS)}</p>
      )}
      {shortStops.value.count > 0 && (
        <p class="short-stops pale">
          {words.shortStops(shortStops.value.count, formats.value.span(shortStops.value.seconds))}
        </p>
      )}
      {picked && (
        <div class="bottom-bar select-bar row">
          <Button
            kind="primary"
            disabled={chosen.length === 0}
            onClick={() => openSheet({ kind: 'reason', targets: chosen.map(targetOf) })}
          >
            {words.reasonFor(chosen.length)}
          </Button>
        </div>
      )}
    </section>
  );
}

function clearSelection(): void {
  selection.value = null;
}

function NothingToExplain(): JSX.Element {
  const words = strings.value;
  if (chosenTiles.value.length === 0) return <NoMachines />;
  const { span, timeOn } = formats.value;
  const knownUntil = link.value?.knownUntil ?? null;
  return (
    <div class="empty">
      <Icon name="check" />
      <p class="empty-title">{words.nothingToExplain}</p>
      <p>{words.stopsAppear(span(session.value?.stopThresholdSeconds ?? 120))}</p>
      {knownUntil !== null && (
        <p class="pale">{words.statesKnownUpTo(timeOn(knownUntil, plantMinute.value))}</p>
      )}
    </div>
  );
}

/** The rows as shown: held still while someone is about to tap, sorted again soon after. */
function useHeldRows(): { list: StopRow[]; more: number; release: () => void; holdProps: object } {
  const wanted = sorted.value;
  const choice = `${order.value} ${String(factoryId.value)}`;
  const shown = useRef({ choice, rows: wanted });
  const [, draw] = useState(0);
  /** 0: the list was not touched recently */
  const holdTimer = useRef(0);
  const releaseRows = (): void => {
    clearTimeout(holdTimer.current);
    holdTimer.current = 0;
    draw((count) => count + 1);
  };
  const hold = (): void => {
    clearTimeout(holdTimer.current);
    holdTimer.current = setTimeout(releaseRows, HOLD_MS);
  };
  // another order or factory was chosen
  const hasPlaces = shown.current.choice === choice && shown.current.rows.length > 0;
  const isPicking = holdTimer.current !== 0 || sheet.value !== null || selection.value !== null;
  const isHeld = hasPlaces && isPicking;
  const { rows: list, more } = isHeld
    ? heldRows(shown.current.rows, wanted)
    : { rows: wanted, more: 0 };
  shown.current = { choice, rows: list };
  return {
    list,
    more,
    release: () => {
      shown.current = { choice, rows: wanted };
      releaseRows();
    },
    holdProps: { onPointerDown: hold, onPointerMove: hold, onKeyDown: hold, onFocusIn: hold },
  };
}
