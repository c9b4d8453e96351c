import { startStub } from './programs.mjs';
import { pollsFrom } from './states/poll-log.mjs';

/** The service's stub as the scenarios use it; service-stub/stub-service.mjs has the fields of `conduct`. */
export async function startService(bench, options) {
  const app = await startStub(bench, options);
  const ask = async (path, init) => (await fetch(`${app.url}/stub/${path}`, init)).json();
  const post = (path, value) => ask(path, { method: 'POST', body: JSON.stringify(value) });
  return {
    url: app.url,
    stop: app.stop,
    ended: app.ended,
    report: () => ask('report'),
    lasts: () => ask('lasts'),
    answers: () => ask('answers'),
    polls: async () => pollsFrom(await (await fetch(`${app.url}/stub/polls`)).arrayBuffer()),
    conduct: (change) => post('conduct', change),
    change: (which) => post('change', which),
  };
}
