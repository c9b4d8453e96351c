import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { ClockOffset, MachineCloudClient } from '#libs/cloud-client';
import { ServiceClockWatch } from './service-clock-watch.js';

describe('ServiceClockWatch', () => {
  let clockOffset: ClockOffset | undefined;
  let watch: ServiceClockWatch;
  let warn: jest.SpiedFunction<Logger['warn']>;
  let log: jest.SpiedFunction<Logger['log']>;

  beforeEach(() => {
    warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    log = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    const cloud = {
      get clockOffset() {
        return clockOffset;
      },
    };
    watch = new ServiceClockWatch(cloud as MachineCloudClient);
  });

  afterEach(() => {
    watch.onModuleDestroy();
  });

  const seen = (offsetSeconds: number, errorMs = 550): void => {
    clockOffset = { offsetMs: offsetSeconds * 1000, errorMs };
    watch.reviewOffset();
  };

  it('warns once of a clock that is far from ours, and logs once when it agrees again', () => {
    for (const offsetSeconds of [0, -2, -30, -31, -5.2, -30, -1, 0]) seen(offsetSeconds);
    expect(warn.mock.calls).toMatchObject([[{ offsetSeconds: -30 }]]);
    expect(log.mock.calls).toMatchObject([[{ offsetSeconds: -1 }]]);
  });

  it('does not warn of a difference that slow answers may explain', () => {
    seen(7, 5500);
    expect(warn).not.toHaveBeenCalled();
  });

  it('gives the offset in seconds, and none while it is unknown', async () => {
    const value = async (): Promise<number | undefined> =>
      (await watch.metrics[0]!.get()).values[0]?.value;
    clockOffset = undefined;
    watch.reviewOffset();
    expect(await value()).toBeNaN();
    seen(-2.5);
    expect(await value()).toBe(-2.5);
  });
});
