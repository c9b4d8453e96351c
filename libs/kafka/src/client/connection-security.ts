import { Logger } from '@nestjs/common';
import type { RenewedTokenSource } from '#libs/access-tokens';
import {
  type FromFiles,
  type KafkaOAuthClient,
  type KafkaSaslSettings,
  type KafkaSettings,
  SettingsError,
  versionOf,
} from '#libs/config';
import {
  type AuthenticationProviderArgs,
  type KafkaConfig,
  openSocket,
  passwordLogins,
} from '#libs/kafkajs-patches';
import { isProtocolError } from './protocol-error.js';

/** How a client's connections are secured, and which of the files for it cannot be used as they are. */
export interface ConnectionSecurity {
  config: Pick<KafkaConfig, 'ssl' | 'sasl' | 'socketFactory'>;
  /** Reads files that have changed. Each problem names a setting, never a value. */
  fileProblems: () => string[];
}

/** Looks certificates, keys and passwords up for each new connection: files may be replaced. Open connections stay. */
export function secureConnections({ tls, sasl }: KafkaSettings): ConnectionSecurity {
  const tlsFiles = tls && new WatchedFiles(tls);
  const login = sasl && new WatchedFiles(sasl);
  return {
    config: {
      ...(tlsFiles && {
        ssl: true,
        socketFactory: (options) => openSocket({ ...options, ssl: tlsFiles.current() }),
      }),
      ...(login && { sasl: mechanismOf(login) }),
    },
    fileProblems: () => [tlsFiles, login].flatMap((files) => files?.currentProblem() ?? []),
  };
}

/**
 * The present value of settings that are in files: read again when a file has changed, kept while what the files have
 * cannot be used. Files are looked at when the value is asked for: Kubernetes replaces a mounted secret by switching a
 * link, which a watch on the file does not see.
 */
class WatchedFiles<T> {
  private readonly logger = new Logger('KafkaFiles');
  private value: T;
  private seen: string | undefined;
  private problem: string | undefined;

  constructor(private readonly settings: FromFiles<T>) {
    this.value = settings.value;
  }

  current(): T {
    const { files } = this.settings;
    let versions = versionOf(files);
    // While there is a problem it is tried each time: a right to read that is granted need not show as a change.
    if (versions === this.seen && this.problem === undefined) return this.value;
    let problem = this.read();
    // Several files may be in the middle of being replaced: a certificate is read beside the key of another.
    for (let attempt = 0; problem !== undefined && attempt < READ_ATTEMPTS; attempt += 1) {
      const before = versions;
      versions = versionOf(files);
      if (versions === before) break;
      problem = this.read();
    }
    this.seen = versions;
    this.logChange(problem);
    return this.value;
  }

  currentProblem(): string | undefined {
    this.current();
    return this.problem;
  }

  private read(): string | undefined {
    try {
      this.value = this.settings.readAgain();
      return undefined;
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      return error.problems.join('; ');
    }
  }

  private logChange(problem: string | undefined): void {
    if (problem === this.problem) return;
    if (problem === undefined) this.logger.log({ msg: 'files of the Kafka login read again' });
    else {
      const msg = 'files of the Kafka login cannot be used, the former ones are kept';
      this.logger.warn({ msg, why: problem });
    }
    this.problem = problem;
  }
}

const READ_ATTEMPTS = 3;

function mechanismOf(login: WatchedFiles<KafkaSaslSettings>): NonNullable<KafkaConfig['sasl']> {
  const { mechanism } = login.current();
  const tokens = new LoginTokens();
  return {
    mechanism,
    // One login is made with one password, whatever the file has meanwhile.
    authenticationProvider: (connection) => {
      const settings = login.current();
      return settings.mechanism === 'oauthbearer'
        ? { authenticate: () => logInByToken(tokens, settings, connection) }
        : passwordLogins[settings.mechanism](settings)(connection);
    },
  };
}

type TokenLogin = Extract<KafkaSaslSettings, { mechanism: 'oauthbearer' }>;

/** The OAuth server has no token for the login, or the broker refuses it; the message has no secret. */
class TokenLoginError extends Error {
  /** kafkajs need not try it again at once: its clients are replaced, with growing pauses. */
  readonly retriable = false;

  constructor(
    readonly code: 'NO_TOKEN' | 'TOKEN_REFUSED',
    why: string,
  ) {
    super(why);
    this.name = 'TokenLoginError';
  }
}

/** kafkajs gives a login ten seconds. */
const TOKEN_REQUEST_TIMEOUT_MS = 4000;

/** Tokens of one OAuth client for all connections, renewed before they expire. */
class LoginTokens {
  private client: KafkaOAuthClient | undefined;
  private source: Promise<RenewedTokenSource> | undefined;

  /** @throws TokenLoginError */
  async obtain({ client }: TokenLogin): Promise<string> {
    const source = await this.sourceOf(client);
    const answer = await source.obtainFresh();
    if (answer.kind === 'token') return answer.token;
    throw new TokenLoginError('NO_TOKEN', answer.why);
  }

  /** Has another token obtained for the login after this one; how often is limited. */
  async refused(token: string): Promise<void> {
    await (await this.source)?.replace(token, 401);
  }

  private sourceOf(client: KafkaOAuthClient): Promise<RenewedTokenSource> {
    const { proxy, ...credentials } = client;
    if (this.source !== undefined && this.client === client) return this.source;
    // the secret in the file is another one
    void this.source?.then((former) => former.close());
    this.client = client;
    // loaded where it is needed: the terminal has no other use for an HTTP client
    this.source = import('#libs/access-tokens').then(({ openClientCredentials }) =>
      openClientCredentials(credentials, { timeoutMs: TOKEN_REQUEST_TIMEOUT_MS, proxy }),
    );
    return this.source;
  }
}

type SaslConnection = AuthenticationProviderArgs;

/**
 * SASL OAUTHBEARER (RFC 7628). kafkajs's own login takes the challenge, by which a broker refuses a token, for
 * success: its next request would end the connection without a reason. @throws TokenLoginError
 */
async function logInByToken(
  tokens: LoginTokens,
  login: TokenLogin,
  connection: SaslConnection,
): Promise<void> {
  const token = await tokens.obtain(login);
  const fields = Object.entries({ auth: `Bearer ${token}`, ...login.extensions });
  const pairs = fields.map(([key, value]) => `${key}=${value}\x01`).join('');
  const challenge = await exchange(connection, `n,,\x01${pairs}\x01`);
  if (challenge === '') return;
  void tokens.refused(token);
  // The exchange ends with an answer to the challenge, whose own answer is the refusal.
  await exchange(connection, '\x01');
  throw new TokenLoginError('TOKEN_REFUSED', challenge);
}

const LENGTH_BYTES = 4;

async function exchange({ saslAuthenticate }: SaslConnection, message: string): Promise<string> {
  const text = Buffer.from(message);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeInt32BE(text.length);
  try {
    const answer = await saslAuthenticate({
      request: { encode: () => Buffer.concat([length, text]) },
      response: { decode: (raw) => raw, parse: (raw) => raw.subarray(LENGTH_BYTES).toString() },
    });
    return answer ?? '';
  } catch (error) {
    // a connection that broke stays what it is
    throw isProtocolError(error) ? new TokenLoginError('TOKEN_REFUSED', error.message) : error;
  }
}
