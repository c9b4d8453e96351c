import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Entry } from '../../../src/api/index.js';
import { openSheet, sheet, type Target } from '../state/actions.js';
import { type OutgoingReason, explains } from '../model/outgoing.js';
import { type Period, secondsOf } from '../model/periods.js';
import type { StopRow } from '../model/stop-rows.js';
import { confirmOverOperating, discardEntry, takeBack } from '../state/outbox.js';
import { plantMinute } from '../state/clock.js';
import { formats, nameOfReason, strings } from '../state/store.js';
import { EntryStatus, statusOf } from './entry-status.js';
import { Icon, StateBlock } from './icons.js';
import { Button } from './controls.js';

export function targetOf({ machineId, machineName, stop, unexplained }: StopRow): Target {
  return { machineId, machineName, stop, parts: unexplained };
}

export function periodText({ startTime, endTime }: Period): string {
  const { timeOn, range } = formats.value;
  const now = plantMinute.value;
  return endTime === null
    ? strings.value.since(timeOn(startTime, now))
    : range(startTime, endTime, now);
}

/** The row last used by keyboard. */
let keyboardRow: string | null = null;

/**
 * Focuses a row's next button, such as Undo, when an action has removed the focused one. By keyboard only: after a
 * touch, a scanned badge would press the focused button.
 */
function useKeptFocus({ key, unexplained, reasons }: StopRow): {
  ref: RefObject<HTMLLIElement | null>;
  onKeyDown: () => void;
  onPointerDown: () => void;
} {
  const ref = useRef<HTMLLIElement>(null);
  const isSheetOpen = sheet.value !== null;
  const buttons = `${String(unexplained.length)} ${reasons.map(statusOf).join(' ')}`;
  useEffect(() => {
    if (isSheetOpen || keyboardRow !== key || document.activeElement !== document.body) return;
    ref.current?.querySelector<HTMLElement>('button')?.focus();
  }, [key, isSheetOpen, buttons]);
  return {
    ref,
    onKeyDown: () => (keyboardRow = key),
    onPointerDown: () => (keyboardRow = null),
  };
}

/** One stop: a large button while it needs a reason, and the reasons given with their status. */
export function StopItem(props: {
  row: StopRow;
  /** undefined: not selecting */
  selected?: boolean | undefined;
  onToggle?: () => void;
  withName?: boolean;
}): JSX.Element {
  const { row, selected, onToggle, withName = true } = props;
  const words = strings.value;
  const { stop, unexplained, reasons } = row;
  const keptFocus = useKeptFocus(row);
  const needs = unexplained.length > 0;
  const isSelecting = selected !== undefined;
  const title = (
    <>
      <StateBlock look={stop.state} />
      <span class="stop-what column">
        {withName && <span class="stop-name">{row.machineName}</span>}
        <span class="pale">
          {words.state[stop.state]} {periodText(stop)}
          {' · '}
          {row.isRevisedAway ? (
            words.stopRevisedAway
          ) : (
            <>
              <span class="stop-length">
                {formats.value.span(secondsOf(stop, plantMinute.value))}
              </span>
              {stop.endTime === null && <span class="still-going"> · {words.stillGoing}</span>}
            </>
          )}
        </span>
        {needs && reasons.some(explains) && (
          <span class="stop-left">{unexplained.map(periodText).join(', ')}</span>
        )}
      </span>
    </>
  );
  return (
    <li
      class={`stop ${needs ? 'needs' : 'answered'} ${selected === true ? 'selected' : ''}`}
      data-key={row.key}
      {...keptFocus}
    >
      {needs ? (
        <button
          class="stop-main row"
          type="button"
          aria-pressed={isSelecting ? selected : undefined}
          onClick={() => {
            if (isSelecting) onToggle?.();
            else openSheet({ kind: 'reason', targets: [targetOf(row)] });
          }}
        >
          {title}
          {isSelecting ? (
            <span class="tick">{selected && <Icon name="check" />}</span>
          ) : (
            <span class="stop-ask">
              {words.giveReason}
              <Icon name="right" />
            </span>
          )}
        </button>
      ) : (
        <div class="stop-main row">{title}</div>
      )}
      {reasons.length > 0 && (
        <div class="stop-reasons column">
          {reasons.map((entry) => (
            <GivenReason
              key={entry.id}
              entry={entry}
              withPeriod={reasons.length > 1 || needs}
              isAsked={needs}
            />
          ))}
        </div>
      )}
    </li>
  );
}

/** The reason's name; its name when given while the lists are not loaded, or do not have it any more. */
function nameOfGiven({ machineId, reasonId, reasonName }: OutgoingReason): string {
  const name = nameOfReason(machineId, reasonId);
  return name === reasonId ? reasonName : name;
}

/** A reason, of this page or the server: name, period, status, and actions. */
export function ReasonLine(props: {
  entry: OutgoingReason | Entry;
  name: string;
  when: string;
  actions: ComponentChildren;
  children?: ComponentChildren;
}): JSX.Element {
  const { entry, name, when, actions, children } = props;
  const isMoved = 'moved' in entry && entry.moved;
  return (
    <div
      class={`given row ${isMoved ? 'moved' : ''}`}
      data-entry={'kind' in entry ? entry.id : entry.entryId}
    >
      <span class="given-what column">
        <span class="given-name">
          <bdi>{name}</bdi> <span class="given-when">{when}</span>
        </span>
        <EntryStatus entry={entry} />
        {children}
      </span>
      {actions}
    </div>
  );
}

export function GivenReason(props: {
  entry: OutgoingReason;
  withPeriod: boolean;
  isAsked?: boolean;
}): JSX.Element {
  const { entry, withPeriod, isAsked = false } = props;
  return (
    <ReasonLine
      entry={entry}
      name={nameOfGiven(entry)}
      when={withPeriod ? periodText(entry) : ''}
      actions={<GivenActions entry={entry} isAsked={isAsked} />}
    />
  );
}

function GivenActions(props: { entry: OutgoingReason; isAsked: boolean }): JSX.Element {
  const { entry, isAsked } = props;
  const words = strings.value;
  const status = statusOf(entry);
  const isUnconfirmed = status === 'unconfirmed';
  const isRefused = status === 'refused' || status === 'rejected';
  const canUndo = (status === 'undo' || status === 'queued') && !entry.tried;
  const canTryAnother = isRefused && !isAsked && entry.code !== 'end-unknown';
  const correct = (): void => openSheet({ kind: 'reason', targets: [correctionOf(entry)] });
  return (
    <>
      {canUndo && (
        <Button icon="undo" onClick={() => void takeBack([entry.id])}>
          {words.undo}
        </Button>
      )}
      {isUnconfirmed && (
        <Button onClick={() => void confirmOverOperating(entry.id)}>{words.sendAnyway}</Button>
      )}
      {status === 'applied' && <Button onClick={correct}>{words.correct}</Button>}
      {canTryAnother && <Button onClick={correct}>{words.tryAnother}</Button>}
      {(isUnconfirmed || isRefused || status === 'unanswered') && (
        <Button onClick={() => void discardEntry(entry.id)}>
          {isUnconfirmed ? words.discard : words.dismiss}
        </Button>
      )}
    </>
  );
}

function correctionOf(entry: OutgoingReason): Target {
  const { machineId, machineName, stop, startTime, endTime, overOperating, reasonId } = entry;
  return {
    machineId,
    machineName,
    stop,
    parts: [{ startTime, endTime }],
    operatingSeconds: overOperating ? secondsOf(entry, plantMinute.peek()) : 0,
    replaces: nameOfReason(machineId, reasonId),
  };
}
