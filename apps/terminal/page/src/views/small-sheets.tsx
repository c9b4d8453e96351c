import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Session } from '../../../src/api/index.js';
import { closeSheet, closeSheetOf, registerOperator, submitNote } from '../state/actions.js';
import { type Failure, call } from '../state/api-client.js';
import { type Language, LANGUAGES } from '../model/strings.js';
import { Sheet } from '../parts/sheet.js';
import {
  perWindow,
  language,
  operator,
  session,
  setLanguage,
  setSession,
  showToast,
  signInNeeded,
  strings,
} from '../state/store.js';
import { Button, isSecondTap, Segments } from '../parts/controls.js';

/** A form with one field; `onText` receives its text unless empty. */
function Form(props: {
  submit: string;
  onText: (text: string) => void;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <form
      class="form column"
      onSubmit={(event) => {
        event.preventDefault();
        const [entered] = new FormData(event.currentTarget).values();
        const text = typeof entered === 'string' ? entered.trim() : '';
        if (text !== '') props.onText(text);
      }}
    >
      {props.children}
      <div class="form-actions row">
        {props.actions}
        <Button kind="primary" type="submit">
          {props.submit}
        </Button>
      </div>
    </form>
  );
}

async function register(name: string | null): Promise<void> {
  if (await registerOperator(name)) closeSheetOf('operator');
}

export function OperatorSheet(): JSX.Element {
  const words = strings.value;
  const signOff = <Button onClick={() => void register(null)}>{words.signOff}</Button>;
  return (
    <Sheet name="operator" title={words.registerOperator}>
      <Form
        submit={words.register}
        onText={(name) => void register(name)}
        actions={operator.value !== null && signOff}
      >
        <p>{words.operatorHint}</p>
        <label class="field column">
          {words.operatorName}
          <input
            name="operator"
            autocomplete="off"
            maxLength={64}
            defaultValue={operator.value ?? ''}
            required
          />
        </label>
      </Form>
    </Sheet>
  );
}

export function NoteSheet(props: { machineId: string; machineName: string }): JSX.Element {
  const { machineId, machineName } = props;
  const words = strings.value;
  const isSaved = useRef(false);
  // the draft survives a tap beside the sheet, which closes it, and a restart of the page
  const draft = `note.${machineId}`;
  return (
    <Sheet name="note" title={`${words.addNote}: ${machineName}`}>
      <Form
        submit={words.save}
        onText={(text) => {
          // the second tap of a double tap comes while the note is written, before the sheet is closed
          if (isSaved.current) return;
          isSaved.current = true;
          perWindow.set(draft, '');
          void submitNote(machineId, machineName, text).then(() => closeSheetOf('note'));
        }}
      >
        <label class="field column">
          {words.noteText}
          <textarea
            name="text"
            rows={4}
            maxLength={1000}
            required
            defaultValue={perWindow.get(draft) ?? ''}
            onInput={({ currentTarget }) => perWindow.set(draft, currentTarget.value)}
          />
        </label>
        <p class="hint">{words.noteHint}</p>
      </Form>
    </Sheet>
  );
}

const LANGUAGE_NAMES: Record<Language, string> = { en: 'English', de: 'Deutsch' };

export function SettingsSheet(): JSX.Element {
  const words = strings.value;
  const [isAsked, setIsAsked] = useState(false);
  return (
    <Sheet name="settings" title={words.settings}>
      <div class="form column">
        <h3>{words.language}</h3>
        <Segments
          label={words.language}
          of={LANGUAGES}
          chosen={language.value}
          onChoose={setLanguage}
        >
          {(choice) => <span lang={choice}>{LANGUAGE_NAMES[choice]}</span>}
        </Segments>
        <h3>{words.about}</h3>
        <ul class="about column">
          {[words.statesLateHint, words.setOnlyHint, ...words.aboutLines, words.noteHint].map(
            (line) => (
              <li key={line}>{line}</li>
            ),
          )}
        </ul>
        {session.value && (
          <div class="form-actions row spread">
            <p>
              {words.station}: <b>{session.value.station}</b>
            </p>
            <Button
              onClick={(event) => {
                // operators at night have no token to sign in again
                if (!isAsked || isSecondTap(event)) {
                  setIsAsked(true);
                  return;
                }
                void signOut();
                closeSheet();
              }}
            >
              {isAsked ? words.tapAgain : words.signOut}
            </Button>
          </div>
        )}
      </div>
    </Sheet>
  );
}

async function signOut(): Promise<void> {
  if (!(await call('DELETE', '/api/session', null)).ok) {
    // the cookie is still there
    showToast(strings.peek().signInFailed, true);
    return;
  }
  // where no token is needed the station stays signed in
  const answer = await call<Session>('GET', '/api/session', 'station');
  if (answer.ok) setSession(answer.value);
  else signInNeeded.value ||= 'token';
}

function signInProblem({ kind, code, message, retryAfterMs }: Failure): string {
  const words = strings.peek();
  if (code === 'too-many') return words.tooManyTokens(Math.ceil(retryAfterMs / 1000));
  return kind === 'signIn' ? words.tokenWrong : (message ?? words.signInFailed);
}

/** Replaces the view while the server, or a proxy before it, asks for a sign-in. */
export function SignIn(): JSX.Element {
  const words = strings.value;
  const [problem, setProblem] = useState<string | null>(null);
  if (signInNeeded.value === 'proxy') {
    return (
      <section class="sign-in card column">
        <h1>{words.signIn}</h1>
        <p>{words.signInAtProxy}</p>
        <a class="button primary" href="/sign-in">
          {words.signIn}
        </a>
      </section>
    );
  }
  const signIn = async (token: string): Promise<void> => {
    const answer = await call<Session>('POST', '/api/session', 'station', { token });
    if (answer.ok) setSession(answer.value);
    else setProblem(signInProblem(answer));
  };
  return (
    <section class="sign-in card column">
      <h1>{words.signIn}</h1>
      <Form submit={words.signIn} onText={(token) => void signIn(token)}>
        <label class="field column">
          {words.token}
          <input name="token" type="password" autocomplete="current-password" required autofocus />
        </label>
        <p class="hint">{words.tokenHint}</p>
        <p class="form-problem" role="alert">
          {problem}
        </p>
      </Form>
    </section>
  );
}
