// Runs before each test file: no server of its process may serve a secret of a setting by HTTP.
import { secretIn } from './secrets.js';
import { watchServedHttp } from './served-http.mjs';

const served = new Set<string>();
const stopWatching = watchServedHttp((text) => {
  const setting = secretIn(text);
  if (setting !== undefined) served.add(setting);
});

afterAll(() => {
  stopWatching();
  if (served.size > 0) throw new Error(`an answer held the secret of ${[...served].join(', ')}`);
});
