import { createHistogram } from 'node:perf_hooks';
import { CallClock } from './call-clock.mjs';
import { MachineTimelines } from './machine-timelines.mjs';
import { operationsOf } from './operations.mjs';
import { PollAudit } from './poll-audit.mjs';
import { WriteAudit } from './write-audit.mjs';

const SLOW_MS = 3000;
const BEARER = 'Bearer ';
const JSON_TYPE = { 'content-type': 'application/json' };
const NO_BODY = { 'content-length': 0 };

/** Answers every call `latencyMs` after it came, and keeps account of the calls. */
export class StubService {
  /**
   * `service`: `up`, `refusing` (503 to everything, at once) or `hanging` (no answer, connections stay open);
   * `badMachine` and `fault`: writes that name this machine are answered late (`slow`, 3 s) or with 422 (`refused`);
   * `keepsAnswers`: whether {@link answers} is recorded;
   * `polledSinceMs`: the report counts machines polled from then on, in epoch milliseconds.
   */
  conduct = {
    service: 'up',
    badMachine: null,
    fault: null,
    keepsAnswers: false,
    polledSinceMs: 0,
  };
  #operations;
  #clock;
  #timelines;
  #polls;
  #latencyUs = createHistogram();
  #audit = new WriteAudit();
  #misbehaved = 0;
  #answers = {};

  constructor({ machineIds, latencyMs, updateSeconds }) {
    this.#timelines = new MachineTimelines({ machines: machineIds.length, updateSeconds });
    this.#polls = new PollAudit(machineIds.length);
    this.#operations = operationsOf(machineIds, this.#timelines);
    this.#clock = new CallClock(latencyMs);
  }

  answer({ request, body, response, arrivedMs }) {
    const [path, query = ''] = request.url.split('?');
    const operation = this.#operations.get(`${request.method} ${path}`);
    const { authorization } = request.headers;
    if (this.conduct.service !== 'up') return this.#fail(response);
    if (!authorization?.startsWith(BEARER)) return respond(response, 403);
    if (operation === undefined) return respond(response, 404);
    const parsed = body.length > 0 ? JSON.parse(body) : undefined;
    const { writes, reads, ...result } = operation({ query, body: parsed });
    if (writes !== undefined) return this.#write(writes, response, arrivedMs);
    const ended = reads && this.#polls.begin(reads, authorization.slice(BEARER.length));
    this.#clock.later(() => {
      ended?.();
      this.#respond(response, arrivedMs, result.status, result.body);
    });
  }

  /** See {@link MachineTimelines#change}. */
  change(which) {
    this.#timelines.change(which, Date.now() / 1000);
  }

  report() {
    const { user, system } = process.cpuUsage();
    return {
      ...this.#audit.report(),
      ...this.#polls.report(this.conduct.polledSinceMs),
      misbehaved: this.#misbehaved,
      medianLatencyMs: this.#latencyUs.count > 0 ? this.#latencyUs.percentile(50) / 1000 : null,
      cpuSeconds: (user + system) / 1_000_000,
    };
  }

  lasts() {
    return this.#audit.lasts();
  }

  /** When the writes of each machine were answered, in their order, in epoch milliseconds. */
  answers() {
    return this.#answers;
  }

  /** All polls, see {@link PollLog}. */
  polls() {
    return this.#polls.log();
  }

  #write(writes, response, arrivedMs) {
    const { badMachine, fault, keepsAnswers } = this.conduct;
    const isBad = fault !== null && writes.some(({ machineId }) => machineId === badMachine);
    const accepted = !(isBad && fault === 'refused');
    if (isBad) this.#misbehaved += 1;
    this.#audit.begin(writes);
    const finish = () => {
      this.#audit.end(writes, accepted);
      if (keepsAnswers) {
        for (const { machineId } of writes) (this.#answers[machineId] ??= []).push(Date.now());
      }
      if (isBad) respond(response, accepted ? 200 : 422);
      else this.#respond(response, arrivedMs, 200);
    };
    if (isBad && fault === 'slow') setTimeout(finish, SLOW_MS);
    else this.#clock.later(finish);
  }

  #respond(response, arrivedMs, status, body) {
    this.#latencyUs.record(Math.ceil((performance.now() - arrivedMs) * 1000));
    respond(response, status, body);
  }

  #fail(response) {
    this.#misbehaved += 1;
    if (this.conduct.service === 'refusing') respond(response, 503);
  }
}

function respond(response, status, body) {
  if (body === undefined) response.writeHead(status, NO_BODY).end();
  else
    response
      .writeHead(status, { ...JSON_TYPE, 'content-length': Buffer.byteLength(body) })
      .end(body);
}
