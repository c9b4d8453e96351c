import type {
  ClassificationReasonsRecord,
  CommandOutcome,
  MachineRegistryRecord,
  MachineStateRecord,
  ObservationLost,
  ObservationRestored,
  StateChanged,
  StateCorrected,
} from '#libs/contracts';
import { compileSchema } from '../support/events/compile-schema.js';

const NOW = 1_763_712_000;
const MACHINE = { machineId: 'M-1', factoryId: 'F-1' };

const changed: StateChanged = {
  ...MACHINE,
  state: 'IDLE',
  previousState: 'OPERATING',
  startTime: NOW,
  previousStartTime: NOW - 600,
  detectedAt: NOW + 90,
  revision: 0,
  startTimeSource: 'duration',
};
const corrected: StateCorrected = { ...changed, revision: 1, corrects: 'a'.repeat(64) };
const lost: ObservationLost = {
  ...MACHINE,
  reason: 'removed',
  since: NOW,
  detectedAt: NOW + 300,
  lastState: null,
};
const restored: ObservationRestored = {
  ...MACHINE,
  lostSince: NOW,
  restoredAt: NOW + 600,
  detectedAt: NOW + 660,
};
const latest: MachineStateRecord = {
  ...MACHINE,
  displayName: 'Lathe 1',
  state: 'OFF',
  startTime: NOW,
  observation: 'forbidden',
  lastUpdateTime: NOW,
  sequence: 0,
  settledUntil: null,
};
const registered: MachineRegistryRecord = { ...MACHINE, displayName: 'Lathe 1', factoryName: '' };
const reasons: ClassificationReasonsRecord = {
  machineId: 'M-1',
  reasons: [{ name: 'Cleaning', code: '12' }],
  updatedAt: NOW,
};
const source = { topic: 'p.erp.work-orders.v1', partition: 0, offset: 0, messageId: null };
const open = { machineId: 'M-1', source, code: null, detail: 'why', attempts: 0, appliedAt: null };
const applied: CommandOutcome = { ...open, detail: null, attempts: 1, appliedAt: NOW };
const superseded: CommandOutcome = open;
const rejected: CommandOutcome = { ...open, machineId: null, code: 'too-large' };
const deferred: CommandOutcome = open;

/** One of everything that is published, as the bridge's own types have it. */
const PUBLISHED: [string, object][] = Object.entries({
  'machine-state-changed': changed,
  'machine-state-corrected': corrected,
  'machine-observation-lost': lost,
  'machine-observation-restored': restored,
  'machine-state': latest,
  'machine-registry-entry': registered,
  'classification-reasons': reasons,
  'outcome-applied': applied,
  'outcome-superseded': superseded,
  'outcome-rejected': rejected,
  'outcome-deferred': deferred,
});

const faultsOf = (schema: string, value: object): string[] =>
  compileSchema({ $ref: `schemas/${schema}.json` })(value);

describe.each(PUBLISHED)('the schema %s', (schema, value) => {
  it('takes what the bridge publishes, and fields that may come later', () => {
    expect(faultsOf(schema, value)).toEqual([]);
    expect(faultsOf(schema, { ...value, later: { any: ['thing'] } })).toEqual([]);
  });

  it.each(Object.keys(value))('needs %s', (field) => {
    const rest = Object.fromEntries(Object.entries(value).filter(([name]) => name !== field));
    expect(faultsOf(schema, rest)).toContain(`it must have required property '${field}'`);
  });

  it.each(Object.keys(value))('refuses %s of another type', (field) => {
    expect(faultsOf(schema, { ...value, [field]: true })).not.toEqual([]);
    expect(faultsOf(schema, { ...value, [field]: { any: 'thing' } })).not.toEqual([]);
  });
});

describe('the schemas of outcomes', () => {
  it.each([
    ['outcome-applied', applied],
    ['outcome-superseded', superseded],
    ['outcome-rejected', rejected],
  ])('take one of an order that concerns no machine: %s', (schema, value) => {
    expect(faultsOf(schema, { ...value, machineId: null })).toEqual([]);
  });

  it.each([
    ['outcome-applied', { attempts: -1 }],
    ['outcome-applied', { appliedAt: null }],
    ['outcome-superseded', { appliedAt: NOW }],
    ['outcome-rejected', { code: null }],
    ['outcome-rejected', { detail: null }],
    ['outcome-deferred', { code: 'too-large' }],
  ])('distinguish one from another: no %s with %j', (schema, change) => {
    const value = PUBLISHED.find(([name]) => name === schema)?.[1];
    expect(faultsOf(schema, { ...value, ...change })).not.toEqual([]);
  });
});

describe('the schema of a deferred message', () => {
  it('has no machine where it waits for its order, which it names', () => {
    const waiting = { ...deferred, machineId: null };
    expect(faultsOf('outcome-deferred', { ...waiting, orderId: '4711' })).toEqual([]);
    expect(faultsOf('outcome-deferred', { ...waiting, orderId: undefined })).not.toEqual([]);
  });
});

describe('the schemas of states', () => {
  it('know a correction from a first publication', () => {
    expect(faultsOf('machine-state-corrected', { ...corrected, revision: 0 })).not.toEqual([]);
    expect(faultsOf('machine-state-corrected', { ...corrected, corrects: 'it' })).not.toEqual([]);
  });

  it('have no record of a machine that is removed', () => {
    expect(faultsOf('machine-state', { ...latest, observation: 'removed' })).not.toEqual([]);
  });
});
