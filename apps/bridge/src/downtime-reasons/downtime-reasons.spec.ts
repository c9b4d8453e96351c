import { jest } from '@jest/globals';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Clock, realEpochMs } from '#libs/clock';
import type { DowntimeReason } from '#libs/contracts';
import { IdempotentProducer, type InboundMessage } from '#libs/kafka';
import { respond, StubService } from '../../../../libs/http-calls/test/stub-service.js';
import { CommandOutcomes, type CommandResult } from '../delivery/index.js';
import { inboundMessage } from '../delivery/testing/inbound-message.js';
import { FlowControls } from '../flow-control/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { whenListed } from '../machine-directory/testing/when-listed.js';
import { PlatformModule } from '../platform/index.js';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { DowntimeReasonsController } from './downtime-reasons.js';
import { DowntimeReasonsModule } from './downtime-reasons.module.js';

/** One second of the plant is one millisecond here. */
const CLOCK_SPEED = 1000;
/** For tests in which a call must take much less time than the seconds compared. */
const SLOWER_CLOCK_SPEED = 20;
/** For tests in which it must take less than two minutes. */
const MINUTE_A_SECOND = 60;

const MILL = {
  machineDisplayName: 'Mill',
  machineUniqueId: 'M-1',
  factoryId: 'F-1',
  factoryName: 'Plant',
};

describe('DowntimeReasons', () => {
  let service: StubService;
  let bridge: INestApplicationContext;
  let clock: Clock;
  /** Reasons set, with the plant's time of their calls. */
  let requests: { reasonId: string; atSeconds: number; isFuture: boolean }[];
  let status: number;
  /** Seconds that the clocks of the service and of a gateway are ahead, and whether answers have a date. */
  let serviceClock: { aheadSeconds: number; isDated: boolean; gatewayAheadSeconds?: number };
  let results: CommandResult[];

  beforeEach(async () => {
    [requests, results, status] = [[], [], 200];
    serviceClock = { aheadSeconds: 0, isDated: true };
    service = await StubService.start();
    service.answers((request, response) => {
      const { url = '', body } = request;
      const { aheadSeconds, isDated, gatewayAheadSeconds = aheadSeconds } = serviceClock;
      const nowSeconds = clock.nowMs() / 1000 + aheadSeconds;
      response.sendDate = false;
      const dateMs = clock.nowMs() + gatewayAheadSeconds * 1000;
      if (isDated) response.setHeader('date', new Date(dateMs).toUTCString());
      const reasons = { reasons: [{ name: 'Jam', code: '22' }] };
      if (!url.endsWith('machineClassification')) {
        respond(200, url.includes('lassification') ? reasons : [MILL])(request, response);
        return;
      }
      const { machineId, reasonId, startTime } = JSON.parse(body) as DowntimeReason;
      const isFuture = startTime > nowSeconds;
      if (machineId !== '') requests.push({ reasonId, atSeconds: clock.nowMs() / 1000, isFuture });
      respond(isFuture || machineId === '' ? 422 : status)(request, response);
    });
    await startBridge();
  });

  const startBridge = async (speed = CLOCK_SPEED): Promise<void> => {
    const settings = bridgeSettings({
      MACHINE_CLOUD_BASE_URL: service.baseUrl,
      CLOCK_SPEED: String(speed),
      CLOCK_ORIGIN: String(Math.floor(realEpochMs() / 1000)),
    });
    @Module({ imports: [PlatformModule.with(settings), DowntimeReasonsModule] })
    class ReasonsAlone {}
    bridge = await NestFactory.createApplicationContext(ReasonsAlone, { logger: false });
    bridge.get(FlowControls).markAsRead();
    clock = bridge.get(Clock);
    // there is no Kafka, which its client would go on trying to reach after the test
    jest.spyOn(bridge.get(IdempotentProducer), 'sendRecords').mockResolvedValue(new Map());
    jest.spyOn(bridge.get(CommandOutcomes), 'resultRecords').mockImplementation((_, all) => {
      results.push(...all);
      return [];
    });
    await whenListed(bridge.get(MachineDirectory));
  };

  afterEach(async () => {
    await bridge.close();
    await service.stop();
  });

  /** Hands messages over; resolves when all have finished. */
  const handle = async (...bodies: object[]): Promise<void> => {
    const messages: InboundMessage[] = [];
    const ends = bodies.map(
      (body, offset) =>
        new Promise<void>((finish, fail) => {
          const value = Buffer.from(JSON.stringify(body));
          const place = { topic: 'mes.downtime-reasons.v1', offset };
          const abandon = (): void => fail(new Error('abandoned'));
          const end = (): void => finish();
          messages.push(
            inboundMessage({ ...place, value, bytes: value.length, finish: end, abandon, fail }),
          );
        }),
    );
    bridge.get(DowntimeReasonsController).handle(messages);
    await Promise.all(ends);
  };

  const reason = (startTime: number, reasonId = '22') => ({
    machineId: 'M-1',
    reasonId,
    startTime,
  });

  it('sets a reason and publishes when', async () => {
    await handle(reason(clock.nowSeconds() - 60));
    expect(requests).toMatchObject([{ reasonId: '22' }]);
    expect(results).toMatchObject([{ kind: 'applied', machineId: 'M-1', attempts: 1 }]);
  });

  it('postpones a start a little ahead of the clock, and later reasons of the machine with it', async () => {
    const startTime = clock.nowSeconds() + 110;
    await handle(reason(startTime), reason(startTime - 300));
    expect(requests).toHaveLength(2);
    for (const { atSeconds } of requests) expect(atSeconds).toBeGreaterThanOrEqual(startTime);
    expect(results).toMatchObject([{ kind: 'applied' }, { kind: 'applied' }]);
  });

  it('rejects a start far ahead of the clock at receipt, although an earlier reason is postponed', async () => {
    const nowSeconds = clock.nowSeconds();
    await handle(reason(nowSeconds + 110), reason(nowSeconds + 100_000));
    const rejected = { kind: 'rejected', machineId: 'M-1', attempts: 0 };
    expect(results).toMatchObject([
      { ...rejected, rejection: { code: 'start-in-future' } },
      { kind: 'applied' },
    ]);
    expect(requests).toHaveLength(1);
  });

  it('accepts a start as far ahead of the clock as allowed, and rejects the next second', async () => {
    const nowSeconds = clock.nowSeconds();
    jest.spyOn(clock, 'nowSeconds').mockReturnValue(nowSeconds);
    await handle(reason(nowSeconds + 120), reason(nowSeconds + 121));
    expect(results).toMatchObject([
      { kind: 'rejected', attempts: 0, rejection: { code: 'start-in-future' } },
      { kind: 'applied' },
    ]);
    expect(requests).toHaveLength(1);
  });

  it('rejects an end that lies further ahead than any shift without a call', async () => {
    const nowSeconds = clock.nowSeconds();
    // The plant's time goes on meanwhile.
    const ends = [nowSeconds + 80_000, nowSeconds + 200_000];
    await handle(...ends.map((endTime) => ({ ...reason(nowSeconds - 600), endTime })));
    expect(results).toMatchObject([
      { kind: 'rejected', attempts: 0, rejection: { code: 'invalid-message' } },
      { kind: 'applied' },
    ]);
  });

  it('rejects a reason that the machine does not have without a call', async () => {
    await handle(reason(clock.nowSeconds() - 60, '23'));
    expect(requests).toEqual([]);
    const rejection = { code: 'unknown-reason', detail: 'M-1 has no reason 23' };
    expect(results).toMatchObject([{ kind: 'rejected', machineId: 'M-1', attempts: 0, rejection }]);
  });

  it('rejects unreadable messages, and handles later ones', async () => {
    await handle({ machineId: 'M-1', reasonId: '22' }, reason(clock.nowSeconds() - 60));
    expect(results.map(({ kind }) => kind).toSorted()).toEqual(['applied', 'rejected']);
    expect(requests).toHaveLength(1);
  });

  it('retries a refused start that may lie in the future of the service, until no clock can be the cause', async () => {
    await bridge.close();
    await startBridge(MINUTE_A_SECOND);
    status = 422;
    const startTime = clock.nowSeconds();
    await handle(reason(startTime));
    expect(results).toMatchObject([
      { kind: 'rejected', httpStatus: 422, rejection: { code: 'rejected-by-service' } },
    ]);
    expect(requests.length).toBeGreaterThan(1);
    expect(requests.at(-1)!.atSeconds).toBeGreaterThan(startTime + 120);
  });

  it('sets a reason of ten minutes ago although a gateway dates answers an hour behind', async () => {
    await bridge.close();
    serviceClock = { aheadSeconds: 0, isDated: true, gatewayAheadSeconds: -3600 };
    await startBridge(1);
    // The answers to the first reason give the gateway's clock.
    for (const agoSeconds of [7200, 600]) await handle(reason(clock.nowSeconds() - agoSeconds));
    expect(results).toMatchObject(Array(2).fill({ kind: 'applied', attempts: 1 }));
  });

  describe.each([-30, -2, -0.3, 0.3, 2, 30])(
    'with a service whose clock is %d s ahead',
    (aheadSeconds) => {
      const restart = async (isDated: boolean): Promise<void> => {
        await bridge.close();
        serviceClock = { aheadSeconds, isDated };
        await startBridge(SLOWER_CLOCK_SPEED);
      };
      const lastSeconds = () => {
        const nowSeconds = clock.nowSeconds();
        return [-1, 0, 1].map((since) => reason(nowSeconds + since));
      };

      it('sets reasons that begin now, none of them too early', async () => {
        await restart(true);
        await handle(...lastSeconds());
        expect(results).toMatchObject(Array(3).fill({ kind: 'applied', attempts: 1 }));
        expect(requests.filter(({ isFuture }) => isFuture)).toEqual([]);
      });

      it('sets them even if its answers have no date', async () => {
        await restart(false);
        await handle(...lastSeconds());
        expect(results).toMatchObject(Array(3).fill({ kind: 'applied' }));
      });
    },
  );

  // Any other status, even if the start is now.
  it.each([
    [422, 600, { attempts: 1 }],
    [409, 0, {}],
  ])('rejects what the service refuses: %i', async (refused, agoSeconds, more) => {
    status = refused;
    await handle(reason(clock.nowSeconds() - agoSeconds));
    const rejection = { code: 'rejected-by-service' };
    expect(results).toMatchObject([{ kind: 'rejected', httpStatus: refused, rejection, ...more }]);
  });
});
