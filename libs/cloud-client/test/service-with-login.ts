import {
  hang,
  respond,
  type ReceivedRequest,
  type StubAnswer,
  type StubService,
} from '../../http-calls/test/stub-service.js';

/** A stub whose login issues token-1, token-2, … and that answers calls by their token. */
export class ServiceWithLogin {
  /** Answer to a call with this token; default: 200 to the newest token, 401 to any other. */
  judge = (token: string): number | 'hang' => (token === this.newest ? 200 : 401);
  /** Answer of the login; default: the next token. */
  login: StubAnswer = this.grant((token) => ({ token }));
  issued = 0;

  constructor(readonly stub: StubService) {
    stub.answers((request, response) => {
      if (isLogin(request)) this.login(request, response);
      else this.call(request, response);
    });
  }

  get newest(): string {
    return `token-${this.issued}`;
  }

  get logins(): ReceivedRequest[] {
    return this.stub.requests.filter(isLogin);
  }

  /** The tokens of the calls so far, in order. */
  get called(): string[] {
    return this.stub.requests.filter((request) => !isLogin(request)).map(tokenOf);
  }

  private readonly call: StubAnswer = (request, response) => {
    const status = this.judge(tokenOf(request));
    (status === 'hang' ? hang : respond(status, []))(request, response);
  };

  /** Answers with the next token, in the server's own form. */
  grant(wrap: (token: string) => object): StubAnswer {
    return (request, response) => {
      this.issued += 1;
      respond(200, wrap(this.newest))(request, response);
    };
  }
}

function isLogin({ url }: ReceivedRequest): boolean {
  return (
    url?.endsWith('/api/v1/security/getAPIToken') === true || url?.startsWith('/oauth') === true
  );
}

function tokenOf({ headers }: ReceivedRequest): string {
  return headers.authorization?.replace('Bearer ', '') ?? '';
}
