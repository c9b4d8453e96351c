import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { frameJson, type MessageHeaders, openEnvelope } from '#libs/contracts';
import { EnrichmentRules, enrichmentUrl, type ThinEvent } from './enrichment-rules.js';
import { parseEnrichmentRules } from './parse-enrichment-rules.js';

const RULE = {
  name: 's4',
  when: { ce_type: 'sap.s4.beh.productionorder.v1.ProductionOrder.*' },
  orderId: 'ProductionOrder',
  url: "https://s4.example.com/sap/A_ProductionOrder_2('{orderId}')?$expand=to_ProductionOrderOperation",
};
const rulesOf = (...rules: object[]): EnrichmentRules =>
  new EnrichmentRules(parseEnrichmentRules(JSON.stringify(rules), 'json'));

function find(
  rules: EnrichmentRules,
  body: unknown,
  headers: MessageHeaders = [],
): ReturnType<EnrichmentRules['findThinEvent']> {
  const message = { headers, value: Buffer.from(JSON.stringify(body)) };
  const envelope = openEnvelope(message);
  if (!envelope.ok) throw new Error(envelope.rejection.detail);
  return rules.findThinEvent(message, envelope.value);
}
function found(...args: Parameters<typeof find>): ThinEvent {
  const event = find(...args);
  if (event?.ok !== true) throw new Error(event?.rejection.detail ?? 'no rule is for it');
  return event.value;
}

const CHANGED: MessageHeaders = [
  ['ce_type', 'sap.s4.beh.productionorder.v1.ProductionOrder.Changed.v1'],
];

describe('EnrichmentRules', () => {
  it('find a CloudEvent by an attribute, in binary and in structured mode', () => {
    const rules = rulesOf({ ...RULE, version: 'ce_id' });
    const data = { ProductionOrder: '000001000234' };
    const expected = { rule: 's4', orderId: '1000234', values: { orderId: '000001000234' } };
    expect(found(rules, data, [...CHANGED, ['ce_id', 'e-1']])).toEqual({
      ...expected,
      version: 'e-1',
    });
    const event = {
      ...{ specversion: '1.0', id: 'e-2', source: '/s4', data },
      type: 'sap.s4.beh.productionorder.v1.ProductionOrder.Released.v1',
    };
    const structured: MessageHeaders = [['content-type', 'application/cloudevents+json']];
    expect(found(rules, event, structured)).toEqual({ ...expected, version: 'e-2' });
    const value = frameJson(7, JSON.stringify(event));
    const body = Buffer.from(JSON.stringify(data));
    expect(rules.findThinEvent({ headers: structured, value }, { body })).toMatchObject({
      value: { ...expected, version: 'e-2' },
    });
  });

  it('find an event by several places of its data, with the first rule that matches', () => {
    const d365 = {
      ...{ name: 'd365', orderId: 'Order.Lines[1].Number', keepLeadingZeros: true },
      when: { BusinessEventId: ['Released', 'Finished'], 'Order.Kind': 'P*n' },
      values: { company: 'Company' },
      url: "https://d365.example.com/data/Orders(id='{orderId}',company='{company}')",
    };
    const rules = rulesOf(d365, { ...d365, name: 'other', when: { BusinessEventId: '*' } });
    const event = {
      ...{ BusinessEventId: 'Finished', Company: 'USMF' },
      Order: { Kind: 'Production', Lines: [{}, { Number: '007' }] },
    };
    const values = { orderId: '007', company: 'USMF' };
    expect(found(rules, event)).toEqual({ rule: 'd365', orderId: '007', values });
    expect(found(rules, { ...event, BusinessEventId: 'Opened' }).rule).toBe('other');
    expect(found(rules, { ...event, Order: { ...event.Order, Kind: 'Other' } }).rule).toBe('other');
  });

  it('distinguish orders with the same number by their id in the answer', () => {
    const values = { company: 'Company' };
    const rules = rulesOf({ ...RULE, values, answerOrderId: '{company}/{orderId}' });
    const event = (Company: string) => find(rules, { ProductionOrder: '007', Company }, CHANGED);
    expect(event('USMF')).toMatchObject({ value: { orderId: 'USMF/7' } });
    expect(event('DEMF')).toMatchObject({ value: { orderId: 'DEMF/7' } });
    expect(event('x'.repeat(255))).toMatchObject({ rejection: { code: 'invalid-message' } });
  });

  it('leave to the formats a message without a rule, and one too large for an event', () => {
    const rules = rulesOf(RULE);
    expect(find(rules, { ProductionOrder: '1' })).toBeUndefined();
    expect(find(rules, [], [['ce_type', 'another']])).toBeUndefined();
    const large = { ProductionOrder: '1', more: 'x'.repeat(65_536) };
    expect(find(rules, large, CHANGED)).toBeUndefined();
    expect(find(new EnrichmentRules(), {}, CHANGED)).toBeUndefined();
  });

  it.each([
    [undefined],
    [''],
    [' '],
    [null],
    [{}],
    ["1' or '1' eq '1"],
    ['1"'],
    ['..'],
    ['a/../b'],
    ['1\n2'],
    ['x'.repeat(257)],
    // above 2^53 a number is read inexactly
    [12_345_678_901_234_567_000],
  ])('refuse an event whose order number is %j', (number) => {
    const event = find(rulesOf(RULE), { ProductionOrder: number }, CHANGED);
    expect(event).toMatchObject({ ok: false, rejection: { code: 'invalid-message' } });
  });

  it.each(['e\u0301-1', 'ใบสั่ง 7', 'WH/MO/00301', 'é'])('request order %s', (number) => {
    const values = { orderId: number };
    expect(found(rulesOf(RULE), { ProductionOrder: number }, CHANGED)).toMatchObject({ values });
  });

  it('put any values of an event only into the path of the URL', () => {
    const rules = rulesOf({ ...RULE, values: { plant: 'Plant' }, url: `${RULE.url}&p={plant}` });
    const [rule] = rules.all;
    if (rule === undefined) throw new Error('no rule');
    const bare = new URL(enrichmentUrl(rule, { orderId: '0', plant: '0' }));
    // fast-check takes a second to build its own unit of any character, or a path
    const anyCharacter = fc.nat({ max: 0x10f7ff }).map((number) => {
      return String.fromCodePoint(number < 0xd800 ? number : number + 0x800);
    });
    const text = fc.oneof(
      { weight: 8, arbitrary: fc.string() },
      { weight: 1, arbitrary: fc.string({ unit: anyCharacter }) },
    );
    fc.assert(
      fc.property(text, text, (ProductionOrder, Plant) => {
        const event = find(rules, { ProductionOrder, Plant }, CHANGED);
        if (event?.ok !== true) return;
        const url = new URL(enrichmentUrl(rule, event.value.values));
        expect(url.origin).toBe(bare.origin);
        expect(url.pathname.split('/')).toHaveLength(bare.pathname.split('/').length);
        expect([...url.searchParams.keys()]).toEqual([...bare.searchParams.keys()]);
        expect(url.hash).toBe('');
        const literal = /\('(.*)'\)$/s.exec(decodeURIComponent(url.pathname))?.[1];
        expect(literal).toBe(ProductionOrder);
      }),
    );
  });
});

describe('parseEnrichmentRules', () => {
  const problem = (more: object): string => {
    try {
      rulesOf({ ...RULE, ...more });
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('reads YAML, with defaults for absent fields', () => {
    const yaml = `
- name: oracle
  when: { eventType: WorkOrderUpdated }
  orderId: workOrderNumber
  version: lastUpdate
  url: https://fa.example.com/workOrders?q=WorkOrderNumber='{orderId}'&expand=WorkOrderOperation
  headers: { REST-Framework-Version: "4" }
  auth:
    kind: oauth
    tokenUrl: https://idcs.example.com/oauth2/v1/token
    clientId: bridge
    clientSecret: { file: /run/secrets/oracle }
    scope: urn:opc:resource:consumer::all
  concurrency: 2
`;
    expect(parseEnrichmentRules(yaml, 'yaml')).toEqual([
      {
        name: 'oracle',
        when: [{ place: 'eventType', texts: ['WorkOrderUpdated'] }],
        orderId: 'workOrderNumber',
        version: 'lastUpdate',
        keepLeadingZeros: false,
        values: {},
        url: "https://fa.example.com/workOrders?q=WorkOrderNumber='{orderId}'&expand=WorkOrderOperation",
        headers: { accept: 'application/json', 'rest-framework-version': '4' },
        auth: {
          kind: 'oauth',
          tokenUrl: 'https://idcs.example.com/oauth2/v1/token',
          clientId: 'bridge',
          clientSecret: { file: '/run/secrets/oracle' },
          scope: 'urn:opc:resource:consumer::all',
        },
        proxy: true,
        timeoutMs: 10_000,
        concurrency: 2,
        maxAnswerBytes: 1_048_576,
        goneAfterSeconds: 10,
      },
    ]);
  });

  it.each<[object, string]>([
    [{ name: 'a b' }, 'rule 1: name must be'],
    [{ when: {} }, 'rule 1: when must say'],
    [{ when: { 'a..b': 'x' } }, 'when.a..b must be a place'],
    [{ when: { a: [] } }, 'when.a must be a text'],
    [{ wen: {} }, 'rule 1: wen is no field of it'],
    [{ orderId: undefined }, 'orderId is missing'],
    [{ orderId: 'a b' }, 'orderId must be a place'],
    [{ values: { orderId: 'x' } }, 'values cannot have orderId'],
    [{ url: 'https://erp.example.com/orders' }, 'url has no {orderId}'],
    [{ url: 'https://erp.example.com/{orderID}' }, 'url has {orderID}, which is no value'],
    [{ url: 'https://{orderId}.example.com/' }, 'url must not have values in its host'],
    [{ url: 'http://erp.example.com/{orderId}' }, 'url must be https'],
    [{ url: 'https://me:secret@erp.example.com/{orderId}' }, 'url must not carry a user name'],
    [{ url: 'orders-{orderId}' }, 'url must be a URL'],
    [{ answerOrderId: '{plant}-{orderId}' }, 'answerOrderId has {plant}, which is no value'],
    [{ answerOrderId: 'order' }, 'answerOrderId has no {orderId}'],
    [{ headers: { Authorization: 'Bearer secret' } }, 'headers cannot have Authorization'],
    [{ headers: { 'x y': 'z' } }, 'headers has a name or value'],
    [{ auth: { kind: 'token' } }, 'auth: kind must be'],
    [{ auth: { kind: 'bearer', token: 'secret' } }, 'auth: token must be {env: NAME} or {file'],
    [{ auth: { kind: 'bearer', token: { env: 'A', file: 'b' } } }, 'token must be {env: NAME}'],
    [{ auth: { kind: 'basic', password: { env: 'A' } } }, 'auth: username is missing'],
    [{ timeoutMs: 5 }, 'timeoutMs must be a whole number from 100 to 120000'],
    [{ concurrency: 'many' }, 'concurrency must be a whole number'],
    [{ proxy: 'no' }, 'proxy must be true or false'],
  ])('refuses %j', (more, expected) => {
    const text = problem(more);
    expect(text).toContain(expected);
    expect(text).not.toContain('secret@');
    expect(text).not.toContain('Bearer secret');
  });

  it('refuses a file that is not a list of rules, and two rules with the same name', () => {
    expect(() => parseEnrichmentRules('{}', 'json')).toThrow('it must be a list of 1 to 100 rules');
    expect(() => parseEnrichmentRules('[', 'json')).toThrow('it is not valid json');
    expect(() => rulesOf(RULE, RULE)).toThrow('two rules have the name s4');
    expect(problem({ url: 'http://127.0.0.1:8080/{orderId}' })).toBe('none');
  });
});

describe('the examples in the documentation', () => {
  const page = readFileSync('docs/erp/enrichment.md', 'utf8');
  const fences = (info: string): { of: string; text: string }[] =>
    [...page.matchAll(new RegExp(`^\`\`\`${info}(.*)\\n([^]*?)^\`\`\``, 'gm'))].map(
      ([, of = '', text = '']) => ({ of, text }),
    );
  const [rules, events, urls] = [fences('yaml rules'), fences('json event'), fences('text url')];

  it('cover three systems', () => {
    expect([rules.length, events.length, urls.length]).toEqual([3, 3, 3]);
  });

  it.each(rules.map((_, index) => [index]))('request the documented URL: %i', (index) => {
    const example = new EnrichmentRules(parseEnrichmentRules(rules[index]?.text ?? '', 'yaml'));
    const headers = [...(events[index]?.of ?? '').matchAll(/(\w+)=(\S+)/g)].map(
      ([, name = '', value = '']) => [name, value] as const,
    );
    const event = found(example, JSON.parse(events[index]?.text ?? ''), headers);
    const [rule] = example.all;
    if (rule === undefined) throw new Error('no rule');
    expect(enrichmentUrl(rule, event.values)).toBe(urls[index]?.text.trim());
  });
});
