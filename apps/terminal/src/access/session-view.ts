import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { TerminalSettings } from '#libs/config';
import type { Session } from '../api/index.js';
import { Plant } from '../plant/index.js';
import { TERMINAL_SETTINGS } from '../platform/tokens.js';
import type { Identity } from './identity.js';

/** What a page has to know of the terminal and of who it is. */
@Injectable()
export class SessionView {
  constructor(
    @Inject(TERMINAL_SETTINGS) private readonly settings: TerminalSettings,
    private readonly clock: Clock,
    private readonly plant: Plant,
  ) {}

  of({ station, operator }: Identity): Session {
    const { shifts, stopThresholdSeconds, reasonLooks } = this.settings;
    const epochSeconds = this.clock.nowSeconds();
    return {
      ...{ station, operator, timeZone: shifts.timeZone },
      clock: { epochSeconds, speed: this.clock.speed },
      stopThresholdSeconds,
      shifts: this.plant.shifts(epochSeconds),
      factories: this.plant.factories(),
      reasonLooks: reasonLooks.reasons,
      groups: reasonLooks.groups,
    };
  }
}
