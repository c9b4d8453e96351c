import type { HttpAnswer } from './http-answer.js';

/**
 * One request that services spell differently: sends the form that worked last and, when the
 * service does not know that one, each of the others once.
 */
export class RememberedForm<Form> {
  private forms: readonly Form[];

  /** @param forms the expected one first */
  constructor(
    forms: readonly Form[],
    private readonly isUnknownForm: (answer: HttpAnswer<unknown>) => boolean,
  ) {
    this.forms = [...new Set(forms)];
  }

  async call<T>(send: (form: Form) => Promise<HttpAnswer<T>>): Promise<HttpAnswer<T>> {
    let first: HttpAnswer<T> | undefined;
    for (const form of this.forms) {
      const answer = await send(form);
      if (!this.isUnknownForm(answer)) {
        if (understood(answer)) this.expect(form);
        return answer;
      }
      first ??= answer;
    }
    if (first === undefined) throw new Error('a request needs at least one form');
    return first;
  }

  /** The form that is sent first. */
  get expected(): Form | undefined {
    return this.forms[0];
  }

  /** Sends this form first from now on. */
  expect(form: Form): void {
    if (this.forms[0] === form) return;
    this.forms = [form, ...this.forms.filter((other) => other !== form)];
  }
}

const NOT_FOUND = 404;

/**
 * Any other failure says nothing about the form: a gateway answers so for any path. A 404 counts where it is not that
 * of an unknown form: it is about what was asked for.
 */
function understood(answer: HttpAnswer<unknown>): boolean {
  if (answer.kind === 'rejected') return answer.status === NOT_FOUND;
  return answer.kind === 'data' || answer.kind === 'noData';
}
