import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  closeSheetOf,
  type ReasonSubmission,
  selection,
  submitReasons,
  type Target,
} from '../state/actions.js';
import { type Period, secondsOf } from '../model/periods.js';
import { type Choice, choicesOf, commonReasons } from '../model/reason-choices.js';
import { canSplit, snapSplit, splitAt } from '../model/split.js';
import { Icon, StateBlock } from '../parts/icons.js';
import { Sheet } from '../parts/sheet.js';
import { SplitStrip } from '../parts/split-strip.js';
import { periodText } from '../parts/stop-item.js';
import { plantNow } from '../state/clock.js';
import {
  formats,
  language,
  nameOfReason,
  reasonLists,
  isListed,
  reasonsOf,
  session,
  strings,
  tileOf,
} from '../state/store.js';
import { Button, isSecondTap, Search } from '../parts/controls.js';

interface Split {
  at: number;
  part: 0 | 1;
  /** Codes chosen for the parts. */
  chosen: [string | null, string | null];
}

/** One tap gives a reason; two are needed for time in which the machine ran. */
export function ReasonSheet({ targets }: { targets: readonly Target[] }): JSX.Element {
  const words = strings.value;
  const [search, setSearch] = useState('');
  const [splitBegun, setSplit] = useState<Split | null>(null);
  const [armed, setArmed] = useState<string | null>(null);
  const isGiven = useRef(false);
  const only = targets.length === 1 ? targets[0] : undefined;
  const period = only?.parts.length === 1 ? withCurrentEnd(only, only.parts[0]) : undefined;
  const now = plantNow.value;
  // the stop may have ended before the minute at which it is split
  const split =
    splitBegun && period && canSplit(period, now)
      ? { ...splitBegun, at: snapSplit(splitBegun.at, period, now) }
      : null;
  const operatingSeconds = targets.reduce((sum, target) => sum + (target.operatingSeconds ?? 0), 0);
  const isOpenEnded = targets.some(({ parts }) => parts.some(({ endTime }) => endTime === null));

  const give = async (given: readonly ReasonSubmission[]): Promise<void> => {
    // the second tap of a double tap comes while the entries are written, before the sheet is closed
    if (isGiven.current) return;
    isGiven.current = true;
    await submitReasons(given, operatingSeconds > 0);
    selection.value = null;
    closeSheetOf('reason');
  };
  const choose = (reasonId: string): void => {
    if (operatingSeconds > 0 && armed !== reasonId) {
      setArmed(reasonId);
      return;
    }
    if (!split || !only || !period) {
      const submissionsOf = (target: Target): ReasonSubmission[] =>
        target.parts.map((part) => ({ target, reasonId, period: withCurrentEnd(target, part) }));
      void give(targets.flatMap(submissionsOf));
      return;
    }
    const chosen: Split['chosen'] = [...split.chosen];
    chosen[split.part] = reasonId;
    const other = split.part === 0 ? 1 : 0;
    if (chosen[other] === null) setSplit({ ...split, chosen, part: other });
    else {
      const parts = splitAt(period, split.at);
      void give(
        parts.map((part, index) => {
          return { target: only, reasonId: chosen[index] ?? reasonId, period: part };
        }),
      );
    }
  };

  return (
    <Sheet name="reason" size="large" title={titleOf(targets)}>
      <div class="reason-sheet column">
        <div class="sheet-targets row spread">
          <Targets targets={targets} period={period} />
          {period && canSplit(period, now) && (
            <Button
              icon="split"
              aria-pressed={split !== null}
              onClick={() => {
                const middle = (period.startTime + (period.endTime ?? now)) / 2;
                setSplit(
                  split
                    ? null
                    : { at: snapSplit(middle, period, now), part: 0, chosen: [null, null] },
                );
              }}
            >
              {split ? words.dontSplit : words.split}
            </Button>
          )}
        </div>
        {isOpenEnded && <p class="hint">{words.openEndedHint}</p>}
        {operatingSeconds > 0 && (
          <p class="warning row" role="alert">
            <Icon name="attention" />
            <span>
              {words.confirmOperating(formats.value.span(operatingSeconds))}
              {armed !== null && <b> {words.tapAgainToSend}.</b>}
            </span>
          </p>
        )}
        {split && only && period && (
          <SplitStrip
            period={period}
            state={only.stop.state}
            at={split.at}
            part={split.part}
            chosen={[nameOrNull(only, split.chosen[0]), nameOrNull(only, split.chosen[1])]}
            onSplit={(next) => setSplit((before) => before && { ...before, at: next(before.at) })}
            onPart={(part) => setSplit({ ...split, part })}
          />
        )}
        <Choices
          targets={targets}
          search={search}
          onSearch={setSearch}
          armed={armed}
          onChoose={choose}
        />
        <footer class="sheet-hints hint">
          {words.setOnlyHint} {words.statesLateHint}
        </footer>
      </div>
    </Sheet>
  );
}

/** The question for the target: a stop that is over, one that continues, time in which the machine ran, or several. */
function titleOf(targets: readonly Target[]): string {
  const words = strings.value;
  const [only] = targets;
  if (!only || targets.length > 1) return words.reasonFor(targets.length);
  if (only.stop.state === 'OPERATING') return words.chooseReasonOperating;
  const isGoingOn = only.parts.some((part) => withCurrentEnd(only, part).endTime === null);
  return isGoingOn ? words.chooseReasonStanding : words.chooseReason;
}

function nameOrNull(target: Target, code: string | null): string | null {
  return code === null ? null : nameOfReason(target.machineId, code);
}

/** The period, with its end if its stop has ended while the sheet was open. */
function withCurrentEnd<P extends Period | undefined>({ machineId }: Target, period: P): P {
  if (period?.endTime !== null) return period;
  const stop = tileOf(machineId)?.value.openStops.find(
    ({ startTime }) => startTime === period.startTime,
  );
  return stop ? { ...period, endTime: stop.endTime } : period;
}

function Targets(props: { targets: readonly Target[]; period: Period | undefined }): JSX.Element {
  const { targets, period } = props;
  const words = strings.value;
  const [only] = targets;
  if (only && targets.length === 1) {
    const shown = period ?? only.stop;
    return (
      <div class="target row">
        <StateBlock look={only.stop.state} />
        <span class="stop-what column">
          <span class="stop-name">{only.machineName}</span>
          <span class="pale">
            {words.state[only.stop.state]}{' '}
            {period ? periodText(shown) : only.parts.map(periodText).join(', ')}
            {' · '}
            {formats.value.span(secondsOf(shown, plantNow.value))}
          </span>
          {only.replaces !== undefined && <span class="pale">{words.replaces(only.replaces)}</span>}
        </span>
      </div>
    );
  }
  return (
    <ul class="target-list" tabIndex={0} aria-label={words.reasonFor(targets.length)}>
      {targets.map((target) => (
        <li key={`${target.machineId}${String(target.stop.startTime)}`}>
          <bdi>{target.machineName}</bdi> {periodText(target.stop)}
        </li>
      ))}
    </ul>
  );
}

function Choices(props: {
  targets: readonly Target[];
  search: string;
  onSearch: (text: string) => void;
  armed: string | null;
  onChoose: (code: string) => void;
}): JSX.Element {
  const { targets, search, onSearch, armed, onChoose } = props;
  const words = strings.value;
  const machines = [...new Set(targets.map(({ machineId }) => machineId))];
  const isLoaded = reasonLists.value !== null;
  const present = commonReasons(machines.map((machineId) => reasonsOf(machineId) ?? []));
  // reasons keep their places once shown, even if the service changes the list or the favourites change: a removed
  // reason is refused, which is better than another one under the finger
  const reasons = useFirstReady(present, machines.every(isListed));
  const favourites = useFirstReady(favouritesOf(machines), isLoaded);
  const looks = session.value ?? { reasonLooks: {}, groups: [] };
  const choices = choicesOf(reasons, favourites, looks, language.value, search);
  if (!isLoaded) return <p class="empty">{words.reasonsNotLoaded}</p>;
  if (reasons.length === 0) {
    return <p class="empty">{machines.length > 1 ? words.noCommonReasons : words.noReasons}</p>;
  }
  const button = (choice: Choice, isLarge = false): JSX.Element => (
    <ReasonButton
      key={choice.code}
      choice={choice}
      isLarge={isLarge}
      isArmed={armed === choice.code}
      onChoose={onChoose}
    />
  );
  return (
    <>
      {choices.favourites.length > 0 && (
        <section class="reason-group column">
          <h3>{words.favourites}</h3>
          <div class="reason-grid">{choices.favourites.map((choice) => button(choice, true))}</div>
        </section>
      )}
      <div class="reason-search row spread">
        <h3>{choices.favourites.length > 0 ? words.otherReasons : words.allReasons}</h3>
        <Search label={words.searchReasons} text={search} onText={onSearch} />
      </div>
      <div class="reason-groups">
        {choices.groups.map(({ title, colour, choices: members }) => (
          <section
            class={`reason-group column ${title === null ? 'others' : ''}`}
            key={title ?? ''}
          >
            {title !== null && (
              <h4 class="row">
                <Swatch colour={colour} />
                {title}
              </h4>
            )}
            <div class="reason-grid">{members.map((choice) => button(choice))}</div>
          </section>
        ))}
        {choices.groups.length === 0 && <p class="empty">{words.noReasonMatches}</p>}
      </div>
    </>
  );
}

function useFirstReady<T>(value: T, isReady: boolean): T {
  const first = useRef<{ value: T } | null>(null);
  if (isReady) first.current ??= { value };
  return first.current?.value ?? value;
}

function favouritesOf(machines: readonly string[]): string[] {
  const lists = machines.map(
    (machineId) => reasonLists.value?.machines[machineId]?.favourites ?? [],
  );
  return [...new Set(lists.flat())];
}

function Swatch({ colour }: { colour: string | null }): JSX.Element | null {
  if (colour === null) return null;
  return (
    <svg class="swatch" viewBox="0 0 8 8" aria-hidden="true">
      <rect width="8" height="8" fill={colour} />
    </svg>
  );
}

function ReasonButton(props: {
  choice: Choice;
  isLarge: boolean;
  isArmed: boolean;
  onChoose: (code: string) => void;
}): JSX.Element {
  const { choice, isLarge, isArmed, onChoose } = props;
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isArmed) element.current?.focus();
  }, [isArmed]);
  return (
    <button
      ref={element}
      class={`reason-button row ${isLarge ? 'large' : ''} ${isArmed ? 'armed' : ''}`}
      type="button"
      data-code={choice.code}
      onClick={(event) => {
        // it must not confirm the first tap, nor choose for the other part
        if (isSecondTap(event)) return;
        onChoose(choice.code);
      }}
    >
      <Swatch colour={choice.colour} />
      <span class="reason-button-name">{choice.name}</span>
      <span class="reason-button-code pale">{isArmed ? strings.value.tapAgain : choice.code}</span>
    </button>
  );
}
