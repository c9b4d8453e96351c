import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

interface RuleTest {
  name: string;
  input_series: { series: string }[];
  promql_expr_test?: { expr: string; exp_samples: unknown[] }[];
}

interface Panel {
  id: number;
  type: string;
  title: string;
  datasource?: { type: string; uid: string };
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string; datasource: { uid: string } }[];
}

interface Dashboard {
  uid: string;
  title: string;
  schemaVersion: number;
  panels: Panel[];
  templating: { list: { name: string; type: string; definition?: string }[] };
}

const { groups } = parse(read('deploy/prometheus/rules.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule): rule is Rule & { alert: string } => rule.alert !== undefined);
const recorded = rules.flatMap(({ record }) => record ?? []);
const { tests } = parse(read('deploy/prometheus/rules.test.yaml')) as { tests: RuleTest[] };
const DASHBOARDS = ['bridge', 'terminal', 'ingest'].map(
  (app) => `deploy/grafana/machine-${app}.json`,
);
const dashboards = DASHBOARDS.map((path) => JSON.parse(read(path)) as Dashboard);
const page = read('docs/alerts.md');

/** The metrics in the tables of the documents with their labels; names.spec.ts compares these with the code. */
const metrics = new Map(
  ['operations.md', 'terminal.md', 'ingest.md']
    .flatMap((document) => [
      ...read(`docs/${document}`).matchAll(
        /^\| `(machine_(?:bridge|terminal|ingest)_\w+)(?:{([^}]*)})?`/gm,
      ),
    ])
    .map(([, name = '', labels = '']) => [name, labels.split(',').filter(Boolean)]),
);
/** Labels that Prometheus adds to a series, and the bound of a histogram's bucket. */
const LABELS_OF_SCRAPES = ['namespace', 'job', 'instance', 'le'];
const LABELS_OF_ALERTS = ['alertname', 'alertstate'];

const ofSeries = (name: string) => name.replace(/_(bucket|count|sum)$/, '');

/** Names of this project's metrics in an expression, without recorded ones. */
function metricsOf(expr: string): string[] {
  return [...expr.matchAll(/(?<![\w:])machine_(?:bridge|terminal|ingest)_\w+(?![\w:])/g)].map(
    ([name]) => ofSeries(name),
  );
}

function recordsOf(expr: string): string[] {
  return [...expr.matchAll(/\w+:\w+:\w+/g)].map(([name]) => name);
}

/** Labels by which an expression selects or groups. */
function labelsOf(expr: string): string[] {
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  );
  const matched = [...expr.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, name = '']) => name);
  return [...grouped, ...matched];
}

/** Names and labels in an expression that do not exist. */
function faultsOf(expr: string): string[] {
  const names = metricsOf(expr);
  const sources = recordsOf(expr).map((name) => rules.find(({ record }) => record === name));
  const labels = [
    ...names.flatMap((name) => metrics.get(name) ?? []),
    ...sources.flatMap((source) => labelsOf(source?.expr ?? '')),
    ...LABELS_OF_SCRAPES,
    ...(expr.includes('ALERTS{') ? LABELS_OF_ALERTS : []),
  ];
  return [
    ...names.filter((name) => !metrics.has(name)),
    ...recordsOf(expr).filter((name) => !recorded.includes(name)),
    ...labelsOf(expr).filter((label) => !labels.includes(label)),
  ];
}

describe('the rules for Prometheus', () => {
  it('name only existing metrics, records and labels', () => {
    expect(metrics.size).toBeGreaterThan(30);
    expect(rules.flatMap(({ expr }) => faultsOf(expr))).toEqual([]);
  });

  it('have no alert twice', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(names).toEqual([...new Set(names)]);
  });

  it('have a section for each alert in the documents, and no other', () => {
    const sections = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
  });

  it.each(alerts.map((alert) => [alert.alert, alert] as const))(
    'say what an operator needs: %s',
    (name, { labels, annotations }) => {
      expect(labels).toEqual({
        severity: expect.stringMatching(/^(critical|warning|info)$/) as string,
      });
      expect(annotations).toEqual({
        summary: expect.stringMatching(/^[A-Z].{10,60}$/) as string,
        description: expect.stringMatching(/^.{40,}\.$/) as string,
        runbook_url: `docs/alerts.md#${name.toLowerCase()}`,
      });
      const [, text = ''] = page.split(`### ${name}\n`);
      const [section = ''] = text.split(/^##/m);
      const parts = [...section.matchAll(/^- \*\*(.+?):\*\*/gm)].flatMap(([, part = '']) =>
        part.toLowerCase().split(', '),
      );
      expect(parts).toEqual(['meaning', 'causes', 'look at', 'do']);
    },
  );

  it.each(alerts.map(({ alert }) => alert))(
    'have a test in which it fires, and one in which it does not: %s',
    (name) => {
      const expr = `ALERTS{alertname="${name}",alertstate="firing"}`;
      const cases = tests.flatMap((test) => test.promql_expr_test ?? []);
      const fires = cases
        .filter((test) => test.expr === expr)
        .map((test) => test.exp_samples.length > 0);
      expect(new Set(fires)).toEqual(new Set([true, false]));
    },
  );

  it('are tested with existing series', () => {
    const series = tests.flatMap((test) => test.input_series.map((input) => input.series));
    expect(series.flatMap(faultsOf)).toEqual([]);
  });
});

describe.each(dashboards.map((dashboard) => [dashboard.title, dashboard] as const))(
  'the dashboard %s',
  (_, { panels, schemaVersion, templating, uid }) => {
    const targets = panels.flatMap((panel) => panel.targets ?? []);

    it('names only existing metrics, records and labels', () => {
      expect(targets.length).toBeGreaterThan(10);
      expect(targets.flatMap(({ expr }) => faultsOf(expr))).toEqual([]);
    });

    it('uses the chosen data source and processes', () => {
      expect(schemaVersion).toBeGreaterThanOrEqual(36);
      expect(uid).toMatch(/^[\w-]{1,40}$/);
      expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance']);
      const sources = [...panels.filter(({ type }) => type !== 'row'), ...targets];
      expect(new Set(sources.map(({ datasource }) => datasource?.uid))).toEqual(
        new Set(['${datasource}']),
      );
      const all = targets.map(({ expr }) => expr).filter((expr) => !expr.includes('ALERTS'));
      expect(all.filter((expr) => !expr.includes('job=~"$job"'))).toEqual([]);
      expect(JSON.stringify({ panels, templating })).not.toMatch(/https?:|\d+\.\d+\.\d+\.\d+/);
    });

    it('has panels with distinct ids that do not overlap', () => {
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
        Array.from({ length: h * w }, (__, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
    });
  },
);

describe('the dashboards', () => {
  it('show every metric', () => {
    const exprs = dashboards.flatMap(({ panels }) =>
      panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    );
    const sources = exprs.flatMap(recordsOf);
    const recordedFrom = rules.filter(({ record }) => sources.includes(record ?? ''));
    const shown = [...exprs, ...recordedFrom.map(({ expr }) => expr)].flatMap(metricsOf);
    expect([...metrics.keys()].filter((name) => !shown.includes(name))).toEqual([]);
  });
});

describe('the Helm chart', () => {
  it.each([
    ['rules.yaml', 'deploy/prometheus/rules.yaml'],
    ['machine-bridge.json', 'deploy/grafana/machine-bridge.json'],
    ['machine-terminal.json', 'deploy/grafana/machine-terminal.json'],
    ['machine-ingest.json', 'deploy/grafana/machine-ingest.json'],
  ])('has %s as it is in %s, by npm run test:deploy -- render', (copy, original) => {
    expect(read(`deploy/helm/machine-bridge/files/${copy}`)).toBe(read(original));
  });
});
