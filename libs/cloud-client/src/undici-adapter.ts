import { AxiosError, type AxiosAdapter, type AxiosResponse, type GenericAbortSignal } from 'axios';
import { type Dispatcher } from 'undici';

type Config = Parameters<AxiosAdapter>[0];

/** The signal of a request whose caller is asked once more before it is written. */
interface SendingSignal extends GenericAbortSignal {
  maySend?(): boolean;
}

/**
 * Lets axios send through an undici pool: several times the throughput of its own HTTP adapter at
 * the concurrency the bridge works with. It neither follows redirects nor reads proxy settings.
 *
 * `config.url` is the path with its query on the pool's origin; the body is a string or absent and
 * so is the answer; `headers` go with every request. Rejects with an `AxiosError` whose `code` is that of the failure; it has a
 * `response` (without data) when the status had arrived.
 */
export function undiciAdapter(
  pool: Dispatcher,
  headers: Readonly<Record<string, string>>,
): AxiosAdapter {
  return (config) =>
    new Promise((resolve, reject) => {
      const request = {
        path: config.url ?? '/',
        method: (config.method ?? 'get').toUpperCase(),
        headers: { ...headers, ...(config.headers.toJSON() as Record<string, string>) },
        body: (config.data as string | undefined) ?? null,
      };
      pool.dispatch(request, new Reply(config, resolve, reject));
    });
}

/** Collects one answer; without the stream that undici would otherwise make of each. */
class Reply implements Dispatcher.DispatchHandler {
  private response: AxiosResponse<string> | undefined;
  private readonly chunks: Buffer[] = [];
  private stopListening: () => void = () => undefined;

  constructor(
    private readonly config: Config,
    private readonly resolve: (response: AxiosResponse<string>) => void,
    private readonly reject: (error: AxiosError) => void,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const signal: SendingSignal | undefined = this.config.signal;
    const abort = (): void => {
      controller.abort(new Error('aborted'));
    };
    // It may have waited for a connection; what follows this is written in the same turn.
    if (signal?.aborted === true || signal?.maySend?.() === false) abort();
    else signal?.addEventListener?.('abort', abort);
    this.stopListening = () => {
      signal?.removeEventListener?.('abort', abort);
    };
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Informational answers come before the one that counts.
    if (status < 200) return;
    const { config } = this;
    const known = { 'retry-after': headers['retry-after'], date: headers['date'] };
    this.response = { data: '', status, statusText: '', headers: known as object, config };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.stopListening();
    const { response } = this;
    if (response === undefined) return;
    const [only] = this.chunks;
    const body = this.chunks.length > 1 ? Buffer.concat(this.chunks) : only;
    response.data = body === undefined ? '' : new TextDecoder().decode(body);
    this.resolve(response);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.stopListening();
    this.reject(asAxiosError(error, this.config, this.response));
  }
}

function asAxiosError(
  error: unknown,
  config: AxiosError['config'],
  response?: AxiosResponse,
): AxiosError {
  const { code, message } = error as NodeJS.ErrnoException;
  // connecting to a name with several addresses fails with an AggregateError without a message
  return new AxiosError(message || code, code ?? AxiosError.ERR_NETWORK, config, null, response);
}
