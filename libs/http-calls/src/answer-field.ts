import { field, FIRST_IMPLAUSIBLE_SECOND, isJsonObject } from '#libs/contracts';

/** Thrown by a reader: the answer as a whole is then malformed. */
export class MalformedField extends Error {
  constructor(
    readonly field: string,
    readonly problem: string,
  ) {
    super(`${field} ${problem}`);
  }
}

const NUMERIC = /^\d+(\.\d+)?$/;

/**
 * One value of a JSON answer and its path in it. Reads the value as the type asked for or throws
 * {@link MalformedField}; no message repeats a value of the answer.
 */
export class AnswerField {
  constructor(
    readonly value: unknown,
    private readonly path = '',
  ) {}

  /** The first of `names` that is present and not null; if none is, an absent field of the first name. */
  field(...names: readonly [string, ...string[]]): AnswerField {
    const { value } = this;
    if (!isJsonObject(value)) return this.fail('an object');
    const name = names.find((one) => isPresent(field(value, one))) ?? names[0];
    const found = field(value, name) ?? undefined;
    return new AnswerField(found, this.path === '' ? name : `${this.path}.${name}`);
  }

  /** The elements of a bare list, or of the list under `wrapper`. */
  list(wrapper: string): Iterable<AnswerField> {
    const { value } = this;
    if (Array.isArray(value)) return this.elements(value);
    if (this.path !== '' || !isJsonObject(value)) this.fail('a list');
    return this.field(wrapper).list(wrapper);
  }

  /** Yields one at a time: there may be a hundred thousand. */
  private *elements(list: readonly unknown[]): Generator<AnswerField> {
    for (const [index, element] of list.entries()) {
      yield new AnswerField(element, `${this.path}[${index}]`);
    }
  }

  isAbsent(): boolean {
    return !isPresent(this.value);
  }

  /** Non-empty text; a number becomes its digits, since IDs and codes are often sent so, unless JSON has lost some. */
  text(): string {
    const { value } = this;
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return `${value}`;
    return this.fail('a non-empty string');
  }

  textOr(absent: string): string {
    return this.isAbsent() || this.value === '' ? absent : this.text();
  }

  /** A number or a string of digits, not negative; fractions are cut off. */
  wholeNumber(): number {
    const { value } = this;
    const number =
      typeof value === 'string' && NUMERIC.test(value.trim()) ? Number(value.trim()) : value;
    if (typeof number === 'number' && Number.isFinite(number) && number >= 0) {
      return Math.floor(number);
    }
    return this.fail('a number, not negative');
  }

  epochSeconds(): number {
    const seconds = this.wholeNumber();
    return seconds >= FIRST_IMPLAUSIBLE_SECOND ? this.fail('epoch seconds') : seconds;
  }

  oneOf<T extends string>(allowed: readonly T[]): T {
    return allowed.find((one) => one === this.value) ?? this.fail(`one of ${allowed.join(', ')}`);
  }

  fail(expected: string): never {
    throw new MalformedField(
      this.path === '' ? 'body' : this.path,
      `is ${typeName(this.value)}, expected ${expected}`,
    );
  }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function typeName(value: unknown): string {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}
