import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** What an expression comes to, in a process of its own, with exports of one of the bench's modules in reach. */
function evaluate(module: string, names: string, expression: string): unknown {
  const code = `
    import { ${names} } from './tools/bench/${module}.mjs';
    const value = ${expression};
    console.log(JSON.stringify(value));
  `;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', code],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

describe('the statistics of the bench', () => {
  it('takes the value that a share of all does not exceed', () => {
    const values = '[5, 1, 4, 2, 3, 10, 9, 8, 7, 6]';
    const expression = `[0, 0.5, 0.99, 1].map((q) => percentile(${values}, q))`;

    expect(evaluate('statistics', 'percentile', expression)).toEqual([1, 5, 10, 10]);
  });

  it('takes the middle of rounds, or the mean of the two in the middle', () => {
    const expression = '[median([30, 10, 20]), median([30, 10])]';

    expect(evaluate('statistics', 'median', expression)).toEqual([20, 20]);
  });

  it('holds the median of the rounds against the target', () => {
    const rows = evaluate(
      'figures',
      'Figures',
      `(() => {
        const figures = new Figures();
        for (const rate of [90, 200, 100]) figures.add('a case', 'rate', rate, { atLeast: 101 });
        for (const cost of [90, 200, 100]) figures.add('a case', 'cost', cost, { atMost: 100 });
        figures.add('a case', 'not to be had here', NaN);
        return figures.rows().map(({ figure, median, met }) => [figure, median, met]);
      })()`,
    );

    expect(rows).toEqual([
      ['rate', 100, false],
      ['cost', 100, true],
    ]);
  });
});

describe('the check of what the bridge did', () => {
  function faults(...outcomes: [offset: number, kind: string, machineId?: string][]): unknown {
    const records = outcomes.map(([offset, kind, machineId = 'M-1']) => {
      return {
        partition: 0,
        offset,
        kind,
        machineId,
        code: kind === 'rejected' ? 'too-bad' : null,
      };
    });
    const expected = `{ ends: [2], mayBeRejected: new Set(['M-bad']) }`;
    return evaluate('outcomes', 'faultsOf', `faultsOf(${JSON.stringify(records)}, ${expected})`);
  }

  it('is content when each message has one final outcome', () => {
    expect(faults([0, 'deferred'], [0, 'applied'], [1, 'superseded'])).toEqual([]);
    expect(faults([0, 'applied'], [1, 'rejected', 'M-bad'])).toEqual([]);
  });

  it.each([
    [
      'a message without one',
      [0, 'applied'],
      [1, 'deferred'],
      '1 messages without a final outcome',
    ],
    ['one from nowhere', [2, 'applied'], [0, 'applied'], 'an outcome of 0:2, which nobody sent'],
    ['a good machine that is rejected', [0, 'rejected'], [1, 'applied'], 'M-1 rejected: too-bad'],
  ] as const)('finds %s', (_, first, second, fault) => {
    expect(faults([...first], [...second])).toContain(fault);
  });

  it('finds a message with two', () => {
    expect(faults([0, 'applied'], [0, 'applied'], [1, 'applied'])).toEqual([
      '1 messages with more than one final outcome',
    ]);
  });

  it('finds calls that overlap or come out of order', () => {
    const report = evaluate(
      'service-stub/write-audit',
      'WriteAudit',
      `(() => {
        const audit = new WriteAudit();
        const [first, second] = [1, 2].map((ordinal) => [{ machineId: 'M-1', ordinal }]);
        audit.begin(second);
        audit.begin([{ machineId: 'M-1', ordinal: 3 }]);
        audit.end(second, true);
        audit.begin(first);
        return audit.report();
      })()`,
    );

    expect(report).toMatchObject({ overlaps: 1, disorders: 1, calls: 1, peakInFlight: 2 });
  });
});

describe('npm run bench', () => {
  it('names a scenario that there is not', () => {
    const expression = `(() => {
      try {
        return readOptions(['reasons', 'resaons'], [{ name: 'reasons' }]);
      } catch (error) {
        return error.message;
      }
    })()`;

    expect(evaluate('options', 'readOptions', expression)).toContain('no scenario resaons');
  });
});
