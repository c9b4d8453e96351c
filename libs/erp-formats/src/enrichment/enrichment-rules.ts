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
import { matchesPattern } from '../mapping/order-mapping.js';

/** The place of a secret: a setting or a file, never the rules themselves. */
export type SecretPlace = { env: string } | { file: string };

/** Authentication of a rule's requests. */
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
 * Selects thin events, and describes the GET that completes them. A *place* in an event is an attribute of the
 * CloudEvent (`ce_type`) or a path in its data (`Order.Lines[0].Number`).
 */
export interface EnrichmentRule {
  name: string;
  /** Each place must have one of its texts, in which `*` matches any text. */
  when: readonly { place: string; texts: readonly string[] }[];
  /** The place of the order number. */
  orderId: string;
  /** Whether the answer's format keeps the leading zeros of numeric order numbers. */
  keepLeadingZeros: boolean;
  /** The order's id in the answer, with `{orderId}` and `{name}` for values; absent where it is the order number. */
  answerOrderId?: string;
  /** Places of further values for the URL, by name. */
  values: Readonly<Record<string, string>>;
  /** The place of a value that differs between two states of an order. */
  version?: string;
  /** URL with `{orderId}` and `{name}` for values, none of them in the host. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Overrides the content type of the answer. */
  contentType?: string;
  auth: EnrichmentAuth;
  /** PEM file of the authorities that are trusted instead of the system's. */
  caFile?: string;
  /** Whether the proxy of `HTTPS_PROXY` is used. */
  proxy: boolean;
  timeoutMs: number;
  concurrency: number;
  maxAnswerBytes: number;
  /** How long the ERP must not know an order before it counts as gone: an event may arrive before its order exists. */
  goneAfterSeconds: number;
}

/** The order that a thin event names. */
export interface ThinEvent {
  rule: string;
  /** In the answer's format. */
  orderId: string;
  /** Values for the URL, from the event. */
  values: Readonly<Record<string, string>>;
  version?: string;
}

/** Larger messages are not thin events. */
const MAX_EVENT_BYTES = 65_536;
/** No quotes or other characters that end a literal in OData or a query: percent-encoding does not prevent that. */
const PLAIN_VALUE = /^(?! *$)[\p{L}\p{M}\p{N} _.:/#+@~=-]{1,256}$/u;
const CLIMBS = /(^|\/)\.{1,2}(\/|$)/;

/** The rules in order. The first that matches an event applies. */
export class EnrichmentRules {
  constructor(readonly all: readonly EnrichmentRule[] = []) {}

  /**
   * The order that a message names; undefined where no rule matches. Refusal: `invalid-message` (a value is missing, or
   * has characters that a URL cannot have).
   */
  findThinEvent(
    message: { headers: MessageHeaders; value: Buffer | null },
    { body }: Pick<Envelope, 'body'>,
  ): Parsed<ThinEvent> | undefined {
    if (this.all.length === 0 || body.length > MAX_EVENT_BYTES) return undefined;
    const event = new EventPlaces(message, body);
    const rule = this.all.find(({ when }) =>
      when.every(({ place, texts }) => {
        const found = event.textAt(place);
        return found !== undefined && texts.some((text) => matchesPattern(text, found));
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
  const all: Readonly<Record<string, string>> = { ...values, orderId };
  return answerOrderId.replace(PLACEHOLDER, (_, name: string) => all[name] ?? '');
}

/** The URL of the GET. */
export function enrichmentUrl(
  { url }: EnrichmentRule,
  values: Readonly<Record<string, string>>,
): string {
  return url.replace(PLACEHOLDER, (_, name: string) => percentEncoded(values[name] ?? ''));
}

export const PLACEHOLDER = /\{(\w+)\}/g;

/** Encodes also the characters that `encodeURIComponent` leaves: some have a meaning in OData. */
function percentEncoded(text: string): string {
  const hex = (character: string): string => `%${character.charCodeAt(0).toString(16)}`;
  return encodeURIComponent(text).replace(/[!'()*]/g, (found) => hex(found).toUpperCase());
}

/** Whether a text can name a place. */
export function isPlace(text: string): boolean {
  return /^[^.[\]\s]+(\.[^.[\]\s]+|\[\d{1,4}\])*$/.test(text);
}

const ATTRIBUTE = /^ce_[a-z0-9]+$/;

/** Reads values of an event by place. Parses its JSON at most once. */
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

  /** A text or an exact number; undefined for an empty text or any other value. */
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
