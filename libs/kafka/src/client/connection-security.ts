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
  type AuthenticationProviderArgs as SaslConnection,
  type KafkaConfig,
  openSocket,
  passwordLogins,
} from '#libs/kafkajs-patches';
import { isProtocolError } from './protocol-error.js';

/** Security of a client's connections, and problems of the files that it uses. */
export interface ConnectionSecurity {
  config: Pick<KafkaConfig, 'ssl' | 'sasl' | 'socketFactory'>;
  /** Reads changed files again; each problem names a setting, never a value. */
  fileProblems: () => string[];
}

/** Reads certificates, keys and passwords for each new connection, as files may be replaced; open connections stay. */
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
 * Current value of settings in files: read again when a file has changed, kept while the files cannot be used. Files
 * are checked whenever the value is requested: Kubernetes replaces a mounted secret by switching a link, which a
 * watch on the file does not see.
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
    // With a problem, the files are read each time: a newly granted right to read need not show as a change.
    if (versions === this.seen && this.problem === undefined) return this.value;
    let problem = this.readFiles();
    // Several files may be being replaced: one read may combine a certificate with the key of another.
    for (let attempt = 0; problem !== undefined && attempt < READ_ATTEMPTS; attempt += 1) {
      const before = versions;
      versions = versionOf(files);
      if (versions === before) break;
      problem = this.readFiles();
    }
    this.seen = versions;
    this.logChange(problem);
    return this.value;
  }

  currentProblem(): string | undefined {
    this.current();
    return this.problem;
  }

  private readFiles(): string | undefined {
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
    // One login uses one password, even if the file changes meanwhile.
    authenticationProvider: (connection) => {
      const settings = login.current();
      return settings.mechanism === 'oauthbearer'
        ? { authenticate: () => logInByToken(tokens, settings, connection) }
        : passwordLogins[settings.mechanism](settings)(connection);
    },
  };
}

type TokenLogin = Extract<KafkaSaslSettings, { mechanism: 'oauthbearer' }>;

/** The OAuth server issues no token for the login, or the broker refuses it. The message contains no secret. */
class TokenLoginError extends Error {
  /** kafkajs need not retry at once: its clients are replaced with growing pauses. */
  readonly retriable = false;

  constructor(
    readonly code: 'NO_TOKEN' | 'TOKEN_REFUSED',
    why: string,
  ) {
    super(why);
    this.name = 'TokenLoginError';
  }
}

/** Less than the ten seconds that kafkajs gives a login. */
const TOKEN_REQUEST_TIMEOUT_MS = 4000;

/** Tokens of one OAuth client for all connections, renewed before they expire. */
class LoginTokens {
  private client: KafkaOAuthClient | undefined;
  private source: Promise<RenewedTokenSource> | undefined;

  /** @throws TokenLoginError */
  async obtainToken({ client }: TokenLogin): Promise<string> {
    const source = await this.sourceOf(client);
    const answer = await source.obtainFreshToken();
    if (answer.kind === 'token') return answer.token;
    throw new TokenLoginError('NO_TOKEN', answer.why);
  }

  /** Requests another token for later logins; limited in frequency. */
  async replaceToken(token: string): Promise<void> {
    await (await this.source)?.replaceToken(token, 401);
  }

  private sourceOf(client: KafkaOAuthClient): Promise<RenewedTokenSource> {
    const { proxy, ...credentials } = client;
    if (this.source !== undefined && this.client === client) return this.source;
    // The secret in the file has changed.
    void this.source?.then((former) => former.closeTokenSource());
    this.client = client;
    // Loaded on demand: the terminal has no other use for an HTTP client.
    this.source = import('#libs/access-tokens').then(({ openClientCredentials }) =>
      openClientCredentials(credentials, { timeoutMs: TOKEN_REQUEST_TIMEOUT_MS, proxy }),
    );
    return this.source;
  }
}

/**
 * SASL OAUTHBEARER (RFC 7628). kafkajs's own login takes the challenge with which a broker refuses a token for
 * success: its next request would then end the connection without a reason. @throws TokenLoginError
 */
async function logInByToken(
  tokens: LoginTokens,
  login: TokenLogin,
  connection: SaslConnection,
): Promise<void> {
  const token = await tokens.obtainToken(login);
  const fields = Object.entries({ auth: `Bearer ${token}`, ...login.extensions });
  const pairs = fields.map(([key, value]) => `${key}=${value}\x01`).join('');
  const challenge = await exchange(connection, `n,,\x01${pairs}\x01`);
  if (challenge === '') return;
  void tokens.replaceToken(token);
  // The client ends the exchange by answering the challenge; the broker then refuses the login.
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
    // A broken connection keeps its error.
    throw isProtocolError(error) ? new TokenLoginError('TOKEN_REFUSED', error.message) : error;
  }
}
