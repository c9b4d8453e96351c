// Loaded into an app's process before the app: copies all HTTP output to the test, on file descriptor 3.
import { writeSync } from 'node:fs';
import { watchServedHttp } from './served-http.mjs';

const TO_THE_TEST = 3;

watchServedHttp((text) => writeSync(TO_THE_TEST, text, null, 'latin1'));
