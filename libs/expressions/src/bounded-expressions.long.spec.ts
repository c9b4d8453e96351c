import { readFileSync, writeFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { join } from 'node:path';
import type { Evaluation } from '#libs/erp-formats';
import { temporaryFolder } from '../../config/test/temporary-files.js';
import { BoundedExpressions } from './bounded-expressions.js';

const opened: BoundedExpressions[] = [];
const open = (...args: ConstructorParameters<typeof BoundedExpressions>): BoundedExpressions => {
  const expressions = new BoundedExpressions(...args);
  opened.push(expressions);
  return expressions;
};
const evaluate = (expressions: BoundedExpressions, expression: string, input: unknown = {}) =>
  expressions.evaluate({ expression, input: JSON.stringify(input), variables: {} });
const faultOf = (evaluation: Evaluation): string => (evaluation.ok ? 'none' : evaluation.fault);

afterEach(() => {
  for (const expressions of opened.splice(0)) expressions.closeEvaluator();
});

/** Counts the turns of the event loop while a task runs. */
async function turnsDuring(task: Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 10);
  await task;
  clearInterval(timer);
  return turns;
}

describe('an expression that cannot be interrupted', () => {
  // comparing each item with all earlier ones takes half a minute, also on a fast host
  const items = Array.from({ length: 60_000 }, (_, a) => ({ a }));

  it.each([
    ['a pattern with a choice', '$contains(t, /^(a|\\w){30}$/)', { t: `${'a'.repeat(30)}!` }],
    [
      'a pattern of four parts',
      '$contains(t, /^(\\w*)-?(\\w*)-?(\\w*)-?(\\w*)$/)',
      { t: `${'a'.repeat(990)}!` },
    ],
    ['a pattern that repeats', '$contains(t, /^(a+){12}$/)', { t: `${'a'.repeat(60)}!` }],
    ['a function of the library', '$count($distinct(items))', { items }],
    ['a recursion without end', '($f := function($x) { $f($x + 1) }; $f(0))', {}],
  ])('ends in time and stops nothing else: %s', async (_what, expression, input) => {
    const expressions = open({ deadlineMs: 1_000 });
    await evaluate(expressions, '1');
    const evaluation = evaluate(expressions, expression, input);

    expect(await turnsDuring(evaluation)).toBeGreaterThan(3);
    expect(faultOf(await evaluation)).toMatch(/it takes longer than 1000 ms$/);
    expect(await evaluate(expressions, 't', { t: 'next' })).toEqual({ ok: true, json: '"next"' });
  });
});

describe('an expression that was evaluated while this process stood still', () => {
  it('is answered, and so is the next one', async () => {
    const expressions = open({ deadlineMs: 500 });
    await evaluate(expressions, '1');
    const both = ['2', '3'].map((expression) => evaluate(expressions, expression));
    await nextTurn();
    // longer than any evaluation may take
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    expect(await Promise.all(both)).toEqual(['2', '3'].map((json) => ({ ok: true, json })));
  });
});

describe('an expression that needs too much memory', () => {
  it.each([
    ['many small things', '[1..90000].({"a": [1..90000]})'],
    ['a text that doubles', '($f := function($s) { $f($s & $s & "€") }; $f("x"))'],
    ['a single text', '$length($pad("x", n))'],
    ['a text out of many', '($s := $pad("x", 4000000); $length($join([1..100].($s))))'],
  ])('ends alone: %s', async (_what, expression) => {
    const expressions = open({ heapMiB: 64, levels: 5_000, deadlineMs: 60_000 });

    expect(faultOf(await evaluate(expressions, expression, { n: 300_000_000 }))).toMatch(
      /^it needs more than 64 MiB of memory$|: a text, a list or a recursion grows too large$/,
    );
    expect(await evaluate(expressions, '1')).toEqual({ ok: true, json: '1' });
  });

  it('has a result of bounded length', async () => {
    const fault = faultOf(await evaluate(open({ resultLength: 10 }), '"0123456789"'));

    expect(fault).toBe('it fails: its result is longer than 10 characters of JSON');
  });
});

describe('an expression that makes a function', () => {
  it('is refused with the advice to call it', async () => {
    const fault = faultOf(await evaluate(open(), '{"orderId": function($x) { $x }}'));

    expect(fault).toMatch(
      /: its result has a function: call it, with parentheses behind its name$/,
    );
  });
});

describe('documents that arrive at once', () => {
  it('are read as if each were alone', async () => {
    const items = Array.from({ length: 4_000 }, (_, no) => ({ no, place: 'FR01' }));
    const expression = 'items.{"id": $string(no), "at": place}';
    const alone = performance.now();
    await evaluate(open(), expression, { items });
    // more time than one takes with its start, and less than six take
    const expressions = open({ deadlineMs: Math.ceil((performance.now() - alone) * 3) });
    const evaluations = await Promise.all(
      Array.from({ length: 6 }, () => evaluate(expressions, expression, { items })),
    );

    expect(evaluations.map(faultOf)).toEqual(Array(6).fill('none'));
  });

  it('see nothing of earlier documents, whose compiled expression they share', async () => {
    const expressions = open();
    const expression =
      '($seen := $append($seen, t); {"seen": $seen, "topic": $topic, "match": $match(t, /a+/).match, "own": e ? $eval(e)})';
    const of = (input: object, topic?: string) =>
      expressions.evaluate({
        ...{ expression, input: JSON.stringify(input) },
        variables: topic === undefined ? {} : { topic },
      });

    expect(await of({ t: 'baa', e: '1' }, 'first')).toMatchObject({ ok: false });
    expect(await of({ t: 'baa' }, 'second')).toEqual({
      ok: true,
      json: '{"seen":"baa","topic":"second","match":"aa"}',
    });
    expect(await of({ t: 'aab' })).toEqual({ ok: true, json: '{"seen":"aab","match":"aa"}' });
  });
});

describe('a process that ends by itself', () => {
  const folder = temporaryFolder();
  const program = (name: string, onMessage: string): string => {
    const path = join(folder, `${name}.mjs`);
    const lines = [
      "import { existsSync, writeFileSync } from 'node:fs';",
      `process.on('message', () => { ${onMessage} });`,
      'process.send({ ready: true });',
    ];
    writeFileSync(path, lines.join('\n'));
    return path;
  };

  it('is started again for the same document', async () => {
    const mark = JSON.stringify(join(folder, 'mark'));
    const once = program(
      'once',
      `if (existsSync(${mark})) process.send({ json: '7' });
       else { writeFileSync(${mark}, ''); process.exit(3); }`,
    );

    expect(await evaluate(open({}, once), '1')).toEqual({ ok: true, json: '7' });
  });

  it('is started again where memory runs out because of an earlier document', async () => {
    const second = 'if (globalThis.isUsed) process.abort();';
    const expressions = open(
      {},
      program('worn', `${second} globalThis.isUsed = true; process.send({ json: '7' });`),
    );

    for (let document = 0; document < 3; document += 1) {
      expect(await evaluate(expressions, '1')).toEqual({ ok: true, json: '7' });
    }
  });

  /** A program that dies at its first `times` starts. Each start adds a dot to its file. */
  const slowToStart = (times: number): { program: string; starts: () => number } => {
    const dots = join(folder, `starts-${times}`);
    writeFileSync(dots, '');
    const path = join(folder, `starts-${times}.mjs`);
    const lines = [
      "import { appendFileSync, readFileSync } from 'node:fs';",
      `appendFileSync(${JSON.stringify(dots)}, '.');`,
      `const starts = readFileSync(${JSON.stringify(dots)}).length;`,
      `if (starts <= ${times}) process.kill(process.pid, 'SIGKILL');`,
      "process.on('message', () => process.send({ json: '7' }));",
      'process.send({ ready: true });',
    ];
    writeFileSync(path, lines.join('\n'));
    return { program: path, starts: () => readFileSync(dots).length };
  };

  it('is waited for where it does not start, which is no fault of the document', async () => {
    expect(await evaluate(open({}, slowToStart(3).program), '1')).toEqual({ ok: true, json: '7' });
  });

  it.each([
    ['cannot be forked', '\0', () => 1],
    ['does not start', slowToStart(1000).program, slowToStart(1000).starts],
  ])('is waited for until the expressions are closed where it %s', async (_, path, starts) => {
    const expressions = open({}, path);
    const evaluation = evaluate(expressions, '1');
    const ended = expect(evaluation).rejects.toThrow('no longer evaluated');
    do await new Promise(setImmediate);
    while (starts() < 1);
    expressions.closeEvaluator();

    await ended;
  });

  it('leads to a rejection when it ends again', async () => {
    const evaluation = await evaluate(open({}, program('always', 'process.exit(3);')), '1');

    expect(faultOf(evaluation)).toBe('the process that evaluates it ended 2 times (exit code 3)');
  });
});

describe('closing', () => {
  it('rejects the running and the waiting evaluations', async () => {
    const expressions = open();
    await evaluate(expressions, '1');
    const evaluations = [
      evaluate(expressions, '$contains(t, /^(a|\\w){30}$/)', { t: `${'a'.repeat(30)}!` }),
      evaluate(expressions, '1'),
    ];
    // until the first has been sent to the process
    await new Promise(setImmediate);
    expressions.closeEvaluator();

    for (const evaluation of evaluations) {
      await expect(evaluation).rejects.toThrow('no longer evaluated');
    }
  });
});
