import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { StateBlock, Icon } from '../parts/icons.js';
import {
  ALL_TILES,
  type Look,
  lookOf,
  matches,
  ordersWithin,
  type TileFilter,
} from '../model/tiles.js';
import { hrefOf } from '../state/router.js';
import { plantMinute } from '../state/clock.js';
import { factoryId, formats, nameOfReason, strings, tileOf, tiles } from '../state/store.js';
import { useGrowing } from '../parts/use-growing.js';
import { Button, FactoryChoice, KnownUntil, NoMachines, Search } from '../parts/controls.js';

const LOOKS: readonly Look[] = ['OPERATING', 'IDLE', 'OFF', 'NO_DATA'];
/** More tiles than anyone can look at; beyond it the page asks for a filter. */
const MAX_TILES = 1000;
/** Tiles drawn in the first frame, and added with each of the next, below the screen. */
const TILES_A_FRAME = 60;
/** Fewest tiles in a row: larger ones are not needed to be read from across the hall. */
const FEWEST_ACROSS = 3.5;
/** Characters that fit in two lines of the widest browser fonts; longer names are written smaller. */
const NAME_CHARACTERS = { usual: 28, long: 38 };
/** Characters that fit in a line of the narrowest tile, beside the count of further orders. */
const ORDER_CHARACTERS = 24;

const filter = signal<TileFilter>(ALL_TILES);

let shownBefore: readonly string[] = [];

/** Stays the same array while it holds the same machines, so that a state change does not redraw the wall. */
const shown = computed(() => {
  const wanted = { ...filter.value, factoryId: factoryId.value };
  const ids = tiles.value.filter((tile) => matches(tile, wanted)).map(({ machineId }) => machineId);
  const isSame = ids.length === shownBefore.length && ids.every((id, at) => id === shownBefore[at]);
  if (!isSame) shownBefore = ids;
  return shownBefore;
});

const hasTiles = computed(() => tiles.value.length > 0);

const counts = computed(() => {
  const found = { OPERATING: 0, IDLE: 0, OFF: 0, NO_DATA: 0, open: 0 };
  for (const tile of tiles.value) {
    if (factoryId.value !== null && tile.factoryId !== factoryId.value) continue;
    found[lookOf(tile)]++;
    if (tile.openStops.length > 0) found.open++;
  }
  return found;
});

export function Wall(): JSX.Element {
  const words = strings.value;
  const ids = shown.value;
  const inView = ids.slice(0, MAX_TILES);
  const drawn = useGrowing(inView, TILES_A_FRAME);
  return (
    <section class="wall" aria-label={words.wall}>
      <h1 class="visually-hidden">{words.wall}</h1>
      <Filters />
      {inView.length > 0 ? (
        <ul class="tiles" style={{ '--across': tilesAcross(inView.length) }}>
          {inView.map((id) => drawn.has(id) && <TileItem key={id} machineId={id} />)}
        </ul>
      ) : hasTiles.value ? (
        <div class="empty">
          <p>{words.noMachineMatches}</p>
          <Button onClick={() => (filter.value = ALL_TILES)}>{words.showAll}</Button>
        </div>
      ) : (
        <NoMachines />
      )}
      {ids.length > inView.length && (
        <p class="left-out pale">{words.tilesLeftOut(ids.length - inView.length)}</p>
      )}
    </section>
  );
}

/** Tiles in a row, so that all fit on the screen; in steps, so that a few more machines do not resize all. */
function tilesAcross(count: number): number {
  return Math.max(FEWEST_ACROSS, Math.ceil(2 * Math.sqrt(count)) / 2);
}

function Filters(): JSX.Element {
  const words = strings.value;
  const { looks, onlyOpen, text } = filter.value;
  const toggle = (look: Look): void => {
    const next = looks.includes(look) ? looks.filter((other) => other !== look) : [...looks, look];
    filter.value = { ...filter.value, looks: next };
  };
  return (
    <div class="filters row" role="group" aria-label={words.search}>
      <FactoryChoice />
      {LOOKS.map((look) => (
        <Button
          key={look}
          kind={`chip ${look}`}
          icon={look}
          aria-pressed={looks.includes(look)}
          onClick={() => toggle(look)}
        >
          {words.state[look]} <b>{counts.value[look]}</b>
        </Button>
      ))}
      <Button
        kind="chip open"
        icon="attention"
        aria-pressed={onlyOpen}
        onClick={() => (filter.value = { ...filter.value, onlyOpen: !onlyOpen })}
      >
        {words.needsReason} <b>{counts.value.open}</b>
      </Button>
      <Search
        label={words.searchMachines}
        text={text}
        onText={(wanted) => (filter.value = { ...filter.value, text: wanted })}
      />
    </div>
  );
}

function lengthOf({ length }: string): string {
  const { usual, long } = NAME_CHARACTERS;
  return length <= usual ? '' : length <= long ? 'long' : 'longest';
}

function TileItem({ machineId }: { machineId: string }): JSX.Element | null {
  const tile = tileOf(machineId)?.value;
  if (!tile) return null;
  const words = strings.value;
  const look = lookOf(tile);
  const open = tile.openStops.length;
  const isLost = look === 'NO_DATA';
  return (
    <li class="tile-place">
      <a class={`tile ${look}`} href={hrefOf({ view: 'machine', machineId })}>
        <StateBlock look={look} />
        <span class={`tile-name ${lengthOf(tile.displayName)}`}>{tile.displayName}</span>
        <span class="tile-state">
          <b>{words.state[look]}</b>
          {isLost ? null : tile.startTime !== null && <Since startTime={tile.startTime} />}
        </span>
        <span class="tile-orders">
          <Orders orders={tile.workingOrders} />
        </span>
        {isLost
          ? tile.observation !== 'ok' && (
              <span class="tile-reason">{words.observation[tile.observation]}</span>
            )
          : tile.goingOn && (
              <span class="tile-reason">
                <Icon name="waiting" />
                {nameOfReason(machineId, tile.goingOn.reasonId)}
              </span>
            )}
        <span class="tile-foot pale">
          <KnownUntil tile={tile} />
        </span>
        {open > 0 && (
          <span class="tile-open row" title={words.stopsWithoutReason(open)}>
            <Icon name="attention" />
            <span aria-hidden="true">{open}</span>
            <span class="visually-hidden">{words.stopsWithoutReason(open)}</span>
          </span>
        )}
      </a>
    </li>
  );
}

function Orders({ orders }: { orders: readonly string[] | null }): JSX.Element {
  const words = strings.value;
  if (orders === null) return <span class="pale">{words.ordersUnknown}</span>;
  if (orders.length === 0) return <span class="pale">{words.noOrders}</span>;
  const { shown, more } = ordersWithin(orders, ORDER_CHARACTERS);
  return (
    <>
      {shown}
      {more > 0 && <span class="pale"> {words.more(more)}</span>}
    </>
  );
}

/** A component of its own, so that a passing minute redraws a text and not 500 tiles. */
function Since({ startTime }: { startTime: number }): JSX.Element {
  const { timeOn, span } = formats.value;
  const now = plantMinute.value;
  return (
    <>
      {' '}
      <span>{span(now - startTime)}</span>{' '}
      <span>· {strings.value.since(timeOn(startTime, now))}</span>
    </>
  );
}
