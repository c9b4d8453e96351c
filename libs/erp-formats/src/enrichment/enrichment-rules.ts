import {
  type Envelope,
  headerText,
  isIdentifier,
  isJsonObject,
  mediaType,
  type MessageHeaders,
  parsed,
  type Parsed,
  readJson,
  rejected,
  schemaFrameOf,
  STRUCTURED_MODE,
} from '#libs/contracts';
import { matches } from '../mapping/order-mapping.js';

/** Where a secret is: in a setting or in a file, never in the rules themselves. */
export type SecretPlace = { env: string } | { file: string };

/** How a request says who asks. */
export type EnrichmentAuth =
  | { kind: 'none' }
  | { kind: 'bearer'; token: SecretPlace }
  | { kind: 'basic'; username: string; password: SecretPlace }
  /** OAuth 2.0 client credentials (RFC 6749, section 4.4). */
  | {
      kind: 'oauth';
      tokenUrl: string;
      clientId: string;
      clientSecret: SecretPlace;
      scope?: string;
    };

/**
 * A thin event, which names its order and says no more, and the GET that completes it. A *place* in an event is an
 * attribute of the CloudEvent (`ce_type`) or a path in its data (`Order.Lines[0].Number`).
 */
export interface EnrichmentRule {
  name: string;
  /** All places must have one of these texts each; a `*` stands for any text. */
  when: readonly { place: string; texts: readonly string[] }[];
  /** The place of the order number. */
  orderId: string;
  /** The format of the answer keeps leading zeros of order numbers that are digits alone. */
  keepLeadingZeros: boolean;
  /** The id of the order in the answer, with `{orderId}` and `{name}` for values, where it is not the number alone. */
  answerOrderId?: string;
  /** Places of further values of the address, by name. */
  values: Readonly<Record<string, string>>;
  /** The place of what differs between two states of an order. */
  version?: string;
  /** Address with `{orderId}` and `{name}` for values, none of them in its host. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Read as of this content type, whatever the answer says of itself. */
  contentType?: string;
  auth: EnrichmentAuth;
  /** Certificates that are trusted in place of the system's; a PEM file. */
  caFile?: string;
  /** Whether the proxy of `HTTPS_PROXY` is used. */
  proxy: boolean;
  timeoutMs: number;
  concurrency: number;
  maxAnswerBytes: number;
  /** So long an order must be unknown to the ERP before it counts as gone: events may come before their orders. */
  goneAfterSeconds: number;
}

/** What a thin event asks for. */
export interface ThinEvent {
  rule: string;
  /** As the answer's format has it. */
  orderId: string;
  /** What stands in the address, as the event has it. */
  values: Readonly<Record<string, string>>;
  version?: string;
}

/** A larger message is no thin event. */
const MAX_EVENT_BYTES = 65_536;
/** Neither quotes nor what else ends a literal in OData or a query, where percent-encoding does not help. */
const PLAIN_VALUE = /^(?! *$)[\p{L}\p{M}\p{N} _.:/#+@~=-]{1,256}$/u;
const CLIMBS = /(^|\/)\.{1,2}(\/|$)/;

/** The rules in their order; the first that is for an event counts. */
export class EnrichmentRules {
  constructor(readonly all: readonly EnrichmentRule[] = []) {}

  /**
   * What a message asks for; undefined where no rule is for it. Refusal: `invalid-message` (a value is missing, or one
   * that no address can carry).
   */
  find(
    message: { headers: MessageHeaders; value: Buffer | null },
    { body }: Pick<Envelope, 'body'>,
  ): Parsed<ThinEvent> | undefined {
    if (this.all.length === 0 || body.length > MAX_EVENT_BYTES) return undefined;
    const event = new EventPlaces(message, body);
    const rule = this.all.find(({ when }) =>
      when.every(({ place, texts }) => {
        const found = event.textAt(place);
        return found !== undefined && texts.some((text) => matches(text, found));
      }),
    );
    return rule && thinEvent(rule, event);
  }
}

function thinEvent(rule: EnrichmentRule, event: EventPlaces): Parsed<ThinEvent> {
  const { name } = rule;
  const values: Record<string, string> = {};
  for (const [key, place] of Object.entries({ ...rule.values, orderId: rule.orderId })) {
    const value = event.textAt(place);
    if (value === undefined) {
      const why = 'is missing in the event, or neither text nor a number that can be read exactly';
      return rejected('invalid-message', `enrichment ${name}: ${place} ${why}`);
    }
    if (!PLAIN_VALUE.test(value) || CLIMBS.test(value)) {
      const why = 'has a character that no address takes, is blank or too long';
      return rejected('invalid-message', `enrichment ${name}: ${place} ${why}`);
    }
    values[key] = value;
  }
  const orderId = orderIdInAnswer(rule, values);
  if (!isIdentifier(orderId)) {
    return rejected('invalid-message', `enrichment ${name}: the id of the order is too long`);
  }
  const version = rule.version === undefined ? undefined : event.textAt(rule.version);
  return parsed({
    ...{ rule: name, orderId, values },
    ...(isIdentifier(version) && { version }),
  });
}

function orderIdInAnswer(
  { keepLeadingZeros, answerOrderId = '{orderId}' }: EnrichmentRule,
  values: Readonly<Record<string, string>>,
): string {
  const number = values['orderId'] ?? '';
  const orderId = keepLeadingZeros ? number : number.replace(/^0+(?=\d+$)/, '');
  return filled(answerOrderId, { ...values, orderId });
}

function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(PLACEHOLDER, (_, name: string) => values[name] ?? '');
}

/** The address of the GET. */
export function enrichmentUrl(
  { url }: EnrichmentRule,
  values: Readonly<Record<string, string>>,
): string {
  return url.replace(PLACEHOLDER, (_, name: string) => percentEncoded(values[name] ?? ''));
}

export const PLACEHOLDER = /\{(\w+)\}/g;

/** Also what `encodeURIComponent` leaves, some of which has a meaning in OData. */
function percentEncoded(text: string): string {
  const hex = (character: string): string => `%${character.charCodeAt(0).toString(16)}`;
  return encodeURIComponent(text).replace(/[!'()*]/g, (found) => hex(found).toUpperCase());
}

/** Whether a text can name a place. */
export function isPlace(text: string): boolean {
  return /^[^.[\]\s]+(\.[^.[\]\s]+|\[\d{1,4}\])*$/.test(text);
}

const ATTRIBUTE = /^ce_[a-z0-9]+$/;

/** An event by its places; JSON is read once, where a place asks for it. */
class EventPlaces {
  private readonly data: () => unknown;
  private readonly attributes: () => unknown;

  constructor(
    private readonly message: { headers: MessageHeaders; value: Buffer | null },
    body: Buffer,
  ) {
    this.data = onceOf(() => jsonOf(body));
    this.attributes = onceOf(() => {
      const { headers, value } = message;
      if (mediaType(headerText(headers, 'content-type')) !== STRUCTURED_MODE || value === null)
        return undefined;
      return jsonOf(schemaFrameOf(message)?.payload ?? value);
    });
  }

  /** A text, or a number that is read exactly; undefined where there is neither, or an empty text. */
  textAt(place: string): string | undefined {
    const value = ATTRIBUTE.test(place) ? this.attribute(place) : valueAt(this.data(), place);
    if (typeof value === 'number') {
      return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? String(value) : undefined;
    }
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  private attribute(place: string): unknown {
    const attributes = this.attributes();
    if (attributes === undefined) return headerText(this.message.headers, place);
    return valueAt(attributes, place.slice('ce_'.length));
  }
}

function onceOf<T>(read: () => T): () => T {
  let known: { value: T } | undefined;
  return () => (known ??= { value: read() }).value;
}

function jsonOf(bytes: Buffer): unknown {
  const json = readJson(bytes);
  return json.ok ? json.value : undefined;
}

function valueAt(json: unknown, place: string): unknown {
  let value = json;
  for (const [, name, index] of place.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    if (name !== undefined) {
      value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    } else {
      value = Array.isArray(value) ? (value as unknown[])[Number(index)] : undefined;
    }
  }
  return value;
}
