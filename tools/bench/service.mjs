import { startStub } from './programs.mjs';

/** The service's stub as the scenarios use it; what `conduct` takes is told in service-stub/stub-service.mjs. */
export async function startService(bench, options) {
  const app = await startStub(bench, options);
  const ask = async (path, init) => (await fetch(`${app.url}/stub/${path}`, init)).json();
  return {
    url: app.url,
    stop: app.stop,
    ended: app.ended,
    report: () => ask('report'),
    lasts: () => ask('lasts'),
    conduct: (change) => ask('conduct', { method: 'POST', body: JSON.stringify(change) }),
  };
}
