import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type TypeScript from 'typescript';
import { loadBridgeSettings, loadIngestSettings, loadTerminalSettings } from '#libs/config';
import {
  DEAD_LETTER_HEADERS,
  deadLetterTopic,
  INTERNAL_TOPICS,
  REJECTION_CODES,
  TOPIC_DEFINITIONS,
  TOPICS,
  WORK_ORDER_QUEUES,
} from '#libs/contracts';
import { loadSettings } from '../../apps/sandbox/src/index.js';
import { codeSpans, rowsOf, section } from '../support/document-tables.js';

/** Not imported, because Jest would search nine megabytes for its exports. */
const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;

const ROOT = resolve(import.meta.dirname, '../..');

/** The code spans in the first column, row by row. */
function named(page: string, heading: string): string[] {
  return rowsOf(section(page, heading)).flatMap(([first = '']) => codeSpans(first));
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}

describe('the settings in the documents', () => {
  const WAYS = [
    {},
    { KAFKA_SSL: 'true', KAFKA_SASL_MECHANISM: 'plain', MACHINE_CLOUD_TOKEN: 'x' },
    { KAFKA_SASL_MECHANISM: 'oauthbearer', MACHINE_CLOUD_TOKEN_FILE: '/none' },
    { MACHINE_CLOUD_LOGIN_EMAIL: 'x', KAFKA_SCHEMA_REGISTRY_USERNAME: 'x' },
    { MACHINE_CLOUD_OAUTH_CLIENT_ID: 'x' },
  ];
  const NO_SETTINGS_OF_OURS = new Set(['NODE_ENV']);

  /** The names that a program reads from its environment, in all of its set-ups. */
  function askedFor(load: (env: Record<string, string | undefined>) => unknown): string[] {
    const names = new Set<string>();
    for (const way of WAYS) {
      const env = new Proxy<Record<string, string | undefined>>(way, {
        get: (target, name) => {
          if (typeof name === 'string' && !NO_SETTINGS_OF_OURS.has(name)) names.add(name);
          return target[name as string];
        },
      });
      try {
        load(env);
      } catch {
        // a program reports wrong settings after it has read all of them
      }
    }
    return sorted(names);
  }

  const settingsIn = (text: string) =>
    codeSpans(text).filter((span) => /^([A-Z][A-Z0-9]*(_[A-Z0-9]+)+|(https|no)_proxy)$/.test(span));
  /** `…_FILE` after a name is the file variant of that setting. */
  const isTwinOf = (names: readonly string[]) => (name: string) =>
    name.endsWith('_FILE') && names.includes(name.replace(/_FILE$/, ''));

  it.each([
    ['operations.md', loadBridgeSettings],
    ['sandbox.md', loadSettings],
    ['terminal.md', loadTerminalSettings],
    ['ingest.md', loadIngestSettings],
  ])('are those that the program reads: %s', (page, load) => {
    const asked = askedFor(load);
    const text = section(page, '## Settings');
    // the other programs also take settings of the bridge, which their pages refer to
    const documented = settingsIn(text + section('operations.md', '## Settings'));
    expect(asked.filter((name) => !documented.includes(name))).toEqual([]);
    const inFirstColumn = rowsOf(text).flatMap(([first = '']) => settingsIn(first));
    const isTwin = isTwinOf(asked);
    expect(inFirstColumn.filter((name) => !asked.includes(name) && !isTwin(name))).toEqual([]);
  });

  type Load = (env: Record<string, string | undefined>) => unknown;
  const CLOCK = { CLOCK_ORIGIN: '1763680000' };
  const KAFKA = { KAFKA_BROKERS: 'kafka:9092', ...CLOCK };
  const BRIDGE = {
    ...{ ...KAFKA, MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com' },
    MACHINE_CLOUD_TOKEN: 'a-token',
  };

  /** Names and their documented defaults. Several names in a row have as many defaults, or share one. */
  function defaultsOf(page: string): [name: string, documented: string][] {
    return rowsOf(section(page, '## Settings')).flatMap(([first = '', cell = '']) => {
      const names = settingsIn(first);
      const defaults = cell.split(', ');
      return names.map((name, index): [string, string] => [
        name,
        (names.length === defaults.length ? defaults[index] : defaults[0]) ?? '',
      ]);
    });
  }

  it.each<[string, Load, Record<string, string>]>([
    ['operations.md', loadBridgeSettings, BRIDGE],
    ['sandbox.md', loadSettings, CLOCK],
    ['terminal.md', loadTerminalSettings, KAFKA],
    ['ingest.md', loadIngestSettings, KAFKA],
  ])('have the defaults of the program: %s', (page, load, required) => {
    const withoutAny = load(required);
    const defaults = defaultsOf(page).filter(([name]) => name !== 'CLOCK_ORIGIN');
    const values = defaults.filter(([, documented]) => /^`[^`]+`$/.test(documented));
    expect(values.length).toBeGreaterThanOrEqual(5);
    for (const [name, documented] of values) {
      const given = load({ ...required, [name]: documented.slice(1, -1) });
      expect({ name, given }).toEqual({ name, given: withoutAny });
    }
    for (const [name] of defaults.filter(([, documented]) => documented === 'required')) {
      expect(() => load({ ...required, [name]: undefined })).toThrow(name);
    }
    // other cells must be one of these words
    const others = defaults.map(([, documented]) => documented.replace(/^`.*`$/, 'required'));
    expect(sorted(others).filter((it) => !['required', 'none', 'empty'].includes(it))).toEqual([]);
  });

  /** `<min> to <max>` of a number, from the fault of a text in its place; undefined for other settings. */
  function rangeOf(load: Load, env: Record<string, string>): string | undefined {
    let faults: string;
    try {
      const { unsupported } = load(env) as { unsupported: { instead: string }[] };
      faults = unsupported.map(({ instead }) => instead).join();
    } catch (error) {
      faults = (error as Error).message;
    }
    return /must be a whole number from (\d+ to \d+)/.exec(faults)?.[1];
  }

  it.each<[string, Load, Record<string, string>, number]>([
    [
      'operations.md',
      loadBridgeSettings,
      { ...BRIDGE, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel' },
      21,
    ],
    ['sandbox.md', loadSettings, CLOCK, 2],
    ['terminal.md', loadTerminalSettings, KAFKA, 2],
    ['ingest.md', loadIngestSettings, KAFKA, 2],
  ])('have the ranges of the program: %s', (page, load, required, numbers) => {
    const ranges = rowsOf(section(page, '## Settings')).flatMap(([first = '', , meaning = '']) =>
      settingsIn(first.replaceAll(/`OTEL_\w*_TRACES_\w*`/g, '')).map((name) => {
        const range = rangeOf(load, { ...required, [name]: 'x' });
        return { name, range, meaning: meaning.replace(/(?<=\d),(?=\d{3})/g, '') };
      }),
    );
    const numeric = ranges.filter(({ range }) => range !== undefined);
    expect(numeric).toHaveLength(numbers);
    const isNamed = (range: string, text: string): boolean =>
      new RegExp(`(?<!\\d)${range}(?!\\d)`).test(text);
    expect(numeric.filter(({ range = '', meaning }) => !isNamed(range, meaning))).toEqual([]);
  });
});

describe('the topics in the documents', () => {
  const STATES = Object.values(INTERNAL_TOPICS);

  it('are all topics', () => {
    const queues = Object.values<string>(WORK_ORDER_QUEUES);
    const topics = [
      ...TOPIC_DEFINITIONS.map(({ name }) => name),
      TOPICS.downtimeNotes,
      ...queues,
      ...queues.map(deadLetterTopic),
      ...STATES,
    ];
    const text = section('operations.md', '## Topics');
    const rows = rowsOf(text).flatMap(([first = '']) => codeSpans(first));
    expect(sorted(rows)).toEqual(sorted(topics));
  });

  it('have their names in the code', () => {
    const code = sources.map(({ text }) => text).join('\n');
    const own = [...code.matchAll(/machine-bridge\.[a-z-]+\.v\d+/g)].map(([name]) => name);
    expect(sorted(own)).toEqual(sorted([...STATES, ...Object.values(WORK_ORDER_QUEUES)]));
  });

  it.each(TOPIC_DEFINITIONS.map(({ name, ...rest }) => [name, rest] as const))(
    'have the direction and policy of %s',
    (name, { direction, cleanupPolicy }) => {
      const row = rowsOf(section('operations.md', '## Topics')).find(([first = '']) =>
        codeSpans(first).includes(name),
      );
      expect([row?.[1], row?.[3]]).toEqual([direction, cleanupPolicy]);
    },
  );
});

describe('the codes and headers in the documents', () => {
  const names = named('operations.md', '## Dead letters');

  it('are the codes of rejections', () => {
    const codes = rowsOf(section('operations.md', '## Dead letters').split('### ')[0] ?? '')
      .flatMap(([first = '']) => codeSpans(first))
      .filter((name) => !name.startsWith('dlq-'));
    expect(sorted(codes)).toEqual(sorted(REJECTION_CODES));
  });

  it('are the headers of dead letters', () => {
    const headers = names.filter((name) => name.startsWith('dlq-'));
    expect(sorted(headers)).toEqual(sorted(Object.values(DEAD_LETTER_HEADERS)));
  });
});

interface Source {
  path: string;
  text: string;
}

interface ParsedSource extends Source {
  tree: TypeScript.SourceFile;
  nodes: TypeScript.Node[];
}

const FOLDERS = ['apps/bridge', 'apps/cli', 'apps/ingest', 'apps/terminal/src', 'libs'];

/** In each file with a metric or a log message. The others are not parsed, which would take a second. */
const METRIC_OR_MESSAGE = /\bmsg\b|[lL]ogger\b|machine_|scraped(Gauge|Counter)|ofEach/;

const sources: Source[] = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((path) => path.endsWith('.ts') && !/[.-]spec\.ts$|\.d\.ts$/.test(path))
    .filter((path) => !/\/test(ing)?\//.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
);

const parsed: ParsedSource[] = sources
  .filter(({ text }) => METRIC_OR_MESSAGE.test(text))
  .map(({ path, text }) => {
    const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
    return { path, text, tree, nodes: nodesBelow(tree) };
  });

function nodesBelow(tree: TypeScript.SourceFile): TypeScript.Node[] {
  const nodes: TypeScript.Node[] = [tree];
  for (const node of nodes) {
    node.forEachChild((child) => {
      nodes.push(child);
    });
  }
  return nodes;
}

/** Texts in an expression; `*` stands for inserted values. */
function textsIn(expression: TypeScript.Node): string[] {
  if (ts.isStringLiteralLike(expression)) return [expression.text];
  if (ts.isTemplateExpression(expression)) {
    const tail = expression.templateSpans.map(({ literal }) => `*${literal.text}`);
    return [expression.head.text + tail.join('')];
  }
  if (ts.isConditionalExpression(expression)) {
    return [expression.whenTrue, expression.whenFalse].flatMap(textsIn);
  }
  if (ts.isParenthesizedExpression(expression)) return textsIn(expression.expression);
  return [];
}

describe('the metrics in the documents', () => {
  /** Parses the call that makes a metric; `ofEach` puts a prefix before the name; a metric of one value has no labels. */
  function scraped(
    { expression, arguments: given }: TypeScript.CallExpression,
    tree: TypeScript.SourceFile,
  ) {
    const maker = expression.getText(tree);
    const [name] = given[0] === undefined ? [] : textsIn(given[0]);
    if (name === undefined) return [];
    if (maker === 'ofEach') return [`machine_bridge_${name}{flow}`];
    if (maker === 'ofEachRule') return [`machine_bridge_${name}{rule}`];
    if (maker !== 'scrapedGauge' && maker !== 'scrapedCounter') return [];
    if (name.includes('*')) return [];
    const labels = given[2];
    if (labels !== undefined && ts.isArrowFunction(labels)) return [name];
    if (labels === undefined || !ts.isArrayLiteralExpression(labels)) {
      throw new Error(`the labels of ${name} are no list`);
    }
    const names = labels.elements.flatMap(textsIn);
    return [`${name}${names.length === 0 ? '' : `{${names.join(',')}}`}`];
  }

  /** `name{label,label}`, as the tables have them. */
  function metricsIn(prefix: string, folders: RegExp): string[] {
    const found: string[] = [];
    for (const { path, tree, nodes } of parsed.filter((source) => folders.test(source.path))) {
      for (const node of nodes) {
        if (ts.isCallExpression(node)) found.push(...scraped(node, tree));
        if (!ts.isObjectLiteralExpression(node)) continue;
        const values = new Map(
          node.properties
            .filter(ts.isPropertyAssignment)
            .map(({ name, initializer }) => [name.getText(tree), initializer]),
        );
        const [name = ''] = values.has('name')
          ? textsIn(values.get('name') as TypeScript.Node)
          : [];
        if (!name.startsWith(prefix) || name.includes('*')) continue;
        const labels = values.get('labelNames');
        if (labels !== undefined && !ts.isArrayLiteralExpression(labels)) {
          throw new Error(`the labels of ${name} in ${path} are no list`);
        }
        const names = labels?.elements.flatMap(textsIn) ?? [];
        found.push(names.length === 0 ? name : `${name}{${names.join(',')}}`);
      }
    }
    return sorted(found);
  }

  it('are those of the bridge, with their labels', () => {
    const rows = rowsOf(section('operations.md', '## Metrics and alerts').split('| alert')[0] ?? '')
      .flatMap(([first = '']) => codeSpans(first))
      .filter((name) => name.startsWith('machine_bridge_'));
    expect(sorted(rows)).toEqual(metricsIn('machine_bridge_', /^(apps\/bridge|libs)\//));
  });

  it('are those of the terminal', () => {
    const rows = named('terminal.md', '## Metrics and log events');
    const documented = rows.filter((name) => name.startsWith('machine_'));
    expect(sorted(documented)).toEqual(metricsIn('machine_terminal_', /^apps\/terminal\//));
  });

  it('are those of ingest, with their labels', () => {
    const rows = named('ingest.md', '## Metrics and log events');
    const documented = rows.filter((name) => name.startsWith('machine_'));
    expect(sorted(documented)).toEqual(metricsIn('machine_ingest_', /^apps\/ingest\//));
  });

  it('and no alert names any other', () => {
    const known = metricsIn('machine_bridge_', /./).map((name) => name.replace(/\{.*/, ''));
    const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
    const used = [...page.matchAll(/machine_bridge_[a-z_]+[a-z]/g)].map(([name]) =>
      name.replace(/_(bucket|count|sum)$/, ''),
    );
    expect(sorted(used).filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('the log messages in the documents', () => {
  const LEVELS = new Set(['log', 'warn', 'error', 'fatal', 'debug']);

  function messagesOf(folders: RegExp): string[] {
    const found: string[] = [];
    for (const { tree, nodes } of parsed.filter(({ path }) => folders.test(path))) {
      for (const node of nodes) {
        if (ts.isPropertyAssignment(node) && node.name.getText(tree) === 'msg') {
          found.push(...textsIn(node.initializer));
        }
        if (
          ts.isCallExpression(node) &&
          ts.isPropertyAccessExpression(node.expression) &&
          LEVELS.has(node.expression.name.text) &&
          /[lL]ogger$/.test(node.expression.expression.getText(tree)) &&
          node.arguments[0] !== undefined
        ) {
          found.push(...textsIn(node.arguments[0]));
        }
      }
    }
    return sorted(found);
  }

  /** A pattern for a documented message, in which `…` stands for any text. */
  function matcher(documented: string): RegExp {
    const parts = documented.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`);
  }

  it('are those of the bridge', () => {
    const documented = named('operations.md', '## Log events').map(matcher);
    const logged = messagesOf(/^(apps\/bridge\/|libs\/(?!kafkajs-patches\/|http-api\/))/);
    const missing = logged.filter((text) => !documented.some((each) => each.test(text)));
    expect(missing).toEqual([]);
  });

  it.each(['terminal', 'ingest'])('are those of another program: %s', (app) => {
    const documented = named(`${app}.md`, '## Metrics and log events').map(matcher);
    const logged = messagesOf(new RegExp(`^(apps/${app}|libs/http-api)/`));
    expect(logged.filter((text) => !documented.some((each) => each.test(text)))).toEqual([]);
  });

  it('and each of them is logged', () => {
    const texts = new Set(parsed.flatMap(({ nodes }) => nodes.flatMap(textsIn)));
    const all = [
      ...named('operations.md', '## Log events'),
      ...['terminal.md', 'ingest.md']
        .flatMap((page) => named(page, '## Metrics and log events'))
        .filter((name) => !name.startsWith('machine_')),
    ];
    const isLogged = (name: string): boolean => {
      const pattern = matcher(name);
      return texts.has(name) || [...texts].some((text) => pattern.test(text));
    };
    expect(all.filter((name) => !isLogged(name))).toEqual([]);
  });
});
