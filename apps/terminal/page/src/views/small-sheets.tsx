import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Session } from '../../../src/api/index.js';
import { closeSheet, registerOperator, submitNote } from '../state/actions.js';
import { type Failure, call } from '../state/api-client.js';
import { type Language, LANGUAGES } from '../model/strings.js';
import { Sheet } from '../parts/sheet.js';
import {
  language,
  operator,
  session,
  setLanguage,
  setSession,
  signInNeeded,
  strings,
} from '../state/store.js';
import { Button, Segments } from '../parts/controls.js';

function closeDialog(event: Event): void {
  (event.target as Element).closest('dialog')?.close();
}

async function register(name: string | null, event: Event): Promise<void> {
  const dialog = (event.target as Element).closest('dialog');
  if (await registerOperator(name)) dialog?.close();
}

export function OperatorSheet(): JSX.Element {
  const words = strings.value;
  return (
    <Sheet name="operator" title={words.registerOperator} onClose={closeSheet}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          const name = new FormData(event.currentTarget).get('operator');
          const typed = typeof name === 'string' ? name.trim() : '';
          if (typed !== '') void register(typed, event);
        }}
      >
        <p>{words.operatorHint}</p>
        <label class="field">
          {words.operatorName}
          <input
            name="operator"
            autocomplete="off"
            maxLength={64}
            defaultValue={operator.value ?? ''}
            required
          />
        </label>
        <div class="form-actions">
          {operator.value !== null && (
            <Button onClick={(event) => void register(null, event)}>{words.signOff}</Button>
          )}
          <Button kind="primary" type="submit">
            {words.register}
          </Button>
        </div>
      </form>
    </Sheet>
  );
}

export function NoteSheet({
  machineId,
  machineName,
}: {
  machineId: string;
  machineName: string;
}): JSX.Element {
  const words = strings.value;
  const isSaved = useRef(false);
  return (
    <Sheet name="note" title={`${words.addNote}: ${machineName}`} onClose={closeSheet}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          const text = new FormData(event.currentTarget).get('text');
          if (typeof text !== 'string' || text.trim() === '') return;
          // a double tap comes while the note of the first is written, before the sheet is closed
          if (isSaved.current) return;
          isSaved.current = true;
          void submitNote(machineId, machineName, text.trim()).then(() => {
            closeDialog(event);
          });
        }}
      >
        <label class="field">
          {words.noteText}
          <textarea name="text" rows={4} maxLength={1000} required />
        </label>
        <p class="hint">{words.noteHint}</p>
        <div class="form-actions">
          <Button kind="primary" type="submit">
            {words.save}
          </Button>
        </div>
      </form>
    </Sheet>
  );
}

const LANGUAGE_NAMES: Record<Language, string> = { en: 'English', de: 'Deutsch' };

export function SettingsSheet(): JSX.Element {
  const words = strings.value;
  return (
    <Sheet name="settings" title={words.settings} onClose={closeSheet}>
      <div class="form">
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
        <ul class="about">
          {words.aboutLines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        {session.value && (
          <div class="form-actions spread">
            <p>
              {words.station}: <b>{session.value.station}</b>
            </p>
            <Button
              onClick={(event) => {
                void signOut();
                closeDialog(event);
              }}
            >
              {words.signOut}
            </Button>
          </div>
        )}
      </div>
    </Sheet>
  );
}

async function signOut(): Promise<void> {
  await call('DELETE', '/api/session');
  // where no token is needed there is nothing to sign out of
  const answer = await call<Session>('GET', '/api/session');
  if (answer.ok) setSession(answer.value);
  else signInNeeded.value = true;
}

function signInProblem({ kind, code, message, retryAfterMs }: Failure): string {
  const words = strings.peek();
  if (code === 'too-many') return words.tooManyTokens(Math.ceil(retryAfterMs / 1000));
  if (kind === 'away') return words.signInFailed;
  return kind === 'signIn' ? words.tokenWrong : (message ?? words.signInFailed);
}

/** Instead of a view, where the server wants to know which station this is. */
export function SignIn(): JSX.Element {
  const words = strings.value;
  const [problem, setProblem] = useState<string | null>(null);
  const signIn = async (token: string): Promise<void> => {
    const answer = await call<Session>('POST', '/api/session', { token });
    if (answer.ok) setSession(answer.value);
    else setProblem(signInProblem(answer));
  };
  return (
    <section class="sign-in card">
      <h1>{words.signIn}</h1>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          const token = new FormData(event.currentTarget).get('token');
          if (typeof token === 'string') void signIn(token.trim());
        }}
      >
        <label class="field">
          {words.token}
          <input name="token" type="password" autocomplete="current-password" required autofocus />
        </label>
        <p class="hint">{words.tokenHint}</p>
        <p class="form-problem" role="alert">
          {problem}
        </p>
        <div class="form-actions">
          <Button kind="primary" type="submit">
            {words.signIn}
          </Button>
        </div>
      </form>
    </section>
  );
}
