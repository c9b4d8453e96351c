// Loaded into an app's process before the app: what it serves by HTTP goes to the test as well, by the fourth of its
// standard streams.
import { writeSync } from 'node:fs';
import { watchServedHttp } from './served-http.mjs';

const TO_THE_TEST = 3;

watchServedHttp((text) => writeSync(TO_THE_TEST, text, null, 'latin1'));
