import { headerText, isJsonObject, openEnvelope, readJson } from '#libs/contracts';
import type { InboundMessage } from '#libs/kafka';

/** An outcome as a CloudEvent in structured mode. */
export interface OutcomeEvent {
  specversion: '1.0';
  /** The same in all events of one outcome. */
  id: string;
  source: string;
  type: string;
  time?: string;
  /** The machine. */
  subject?: string;
  datacontenttype: 'application/json';
  data: object;
}

/** The outcome, if it concerns a message of that sender. */
export function readOutcomeEvent(
  message: Pick<InboundMessage, 'value' | 'headers' | 'unreadable'>,
  sender: string,
): OutcomeEvent | undefined {
  const { value, headers, unreadable } = message;
  // cheap check before parsing, as most outcomes concern other senders; names need no escapes in JSON
  if (unreadable !== undefined || value?.includes(`"sender":"${sender}"`) !== true)
    return undefined;
  const envelope = openEnvelope({ value, headers });
  const json = envelope.ok ? readJson(envelope.value.body) : envelope;
  if (!json.ok || !isJsonObject(json.value)) return undefined;
  const { source: origin } = json.value;
  if (!isJsonObject(origin) || origin['sender'] !== sender) return undefined;
  const [id, source, type, time, subject] = ['id', 'source', 'type', 'time', 'subject'].map(
    (name) => headerText(headers, `ce_${name}`) ?? undefined,
  );
  if (id === undefined || source === undefined || type === undefined) return undefined;
  return {
    ...{ specversion: '1.0', id, source, type },
    ...(time !== undefined && { time }),
    ...(subject !== undefined && { subject }),
    ...{ datacontenttype: 'application/json', data: json.value },
  };
}
