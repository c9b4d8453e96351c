import {
  openEnvelope,
  parseDowntimeReason,
  parseWorkOrderLists,
  type Parsed,
  type Rejection,
} from '#libs/contracts';
import { readOrderDocument } from '#libs/erp-formats';

import type { PoisonMessage } from './poison/poison-message.js';
import { POISON_CORPUS } from './poison-corpus.js';

const NOW = 1_763_700_000;

function rejectionsOf(message: PoisonMessage): Rejection[] {
  const headers = Object.entries(message.headers ?? {});
  const envelope = openEnvelope({ value: message.value, headers });
  if (!envelope.ok) return [envelope.rejection];
  switch (message.topic) {
    case 'lists': {
      const lists = parseWorkOrderLists(envelope.value.body);
      return lists.ok ? lists.value.faults.map(({ rejection }) => rejection) : [lists.rejection];
    }
    case 'reasons': {
      const reason = parseDowntimeReason(envelope.value.body);
      if (!reason.ok) return [reason.rejection];
      const isAhead = reason.value.startTime > NOW + 120;
      return isAhead ? [{ code: 'start-in-future', detail: 'it has not begun' }] : [];
    }
    case 'orders':
      return refusalOf(readOrderDocument(envelope.value, { timeZone: 'UTC' }));
  }
}

function refusalOf(outcome: Parsed<unknown>): Rejection[] {
  return outcome.ok ? [] : [outcome.rejection];
}

describe('the poison corpus', () => {
  it('has at least thirty inputs, each under its own name', () => {
    const names = new Set(POISON_CORPUS.map(({ name }) => name));

    expect(names.size).toBe(POISON_CORPUS.length);
    expect(names.size).toBeGreaterThanOrEqual(30);
  });

  it.each(POISON_CORPUS.map((message) => [message.name, message] as const))(
    'is refused with its code: %s',
    (_name, message) => {
      const rejections = rejectionsOf(message);

      expect(new Set(rejections.map(({ code }) => code))).toEqual(new Set([message.expectedCode]));
      for (const { detail } of rejections) {
        expect(detail).toMatch(/^[^\p{Cc}]{1,300}$/u);
      }
    },
  );
});
