import { Body, Query, UnprocessableEntityException } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Clock } from '#libs/clock';
import { seededRandom } from '../plant/seeded-random.js';
import { visiblePeriods, visibleState } from '../plant/visible-states.js';
import { AnswerOptions } from './answer-options.js';
import { ActivityLogEntry, MachineStateAnswer } from './answers.js';
import { MachineLookup } from './machine-lookup.js';
import { EpochSeconds, Identifier, MachineQuery } from './request-fields.js';
import { ServiceController } from './service-controller.decorator.js';
import { ServiceOperation } from './service-operation.decorator.js';
import { type Staleness, StalenessOfCall } from './staleness.js';

/** Request of MachineActivityLog. */
class ActivityRequest {
  @Identifier({ example: 'M-001' })
  machineId!: string;

  @EpochSeconds('Beginning of the window.')
  startTime!: number;

  @EpochSeconds('End of the window, at most 30 days after its beginning.', 1_763_683_600)
  endTime!: number;
}

@ServiceController('states')
export class MachineStatesController {
  private readonly jitter = seededRandom('duration jitter');

  constructor(
    private readonly machines: MachineLookup,
    private readonly clock: Clock,
    private readonly options: AnswerOptions,
  ) {}

  @ServiceOperation('getMachineState', 'GET', {
    summary: 'The current state of a machine and how long it has lasted.',
    causes: { 204: 'No data.', 422: 'Machine ID missing or does not exist.' },
  })
  @ApiOkResponse({ type: MachineStateAnswer })
  getMachineState(
    @Query() { machineId }: MachineQuery,
    @StalenessOfCall() { lagSeconds = 0 }: Staleness,
  ): MachineStateAnswer | null {
    const machine = this.machines.getOr422(machineId);
    const state = visibleState(machine, this.clock.nowSeconds() - lagSeconds);
    if (!state) return null;
    return {
      machineState: state.machineState,
      durationInMinutes: this.options.durationJitter
        ? Math.max(0, state.durationInMinutes + Math.floor(this.jitter() * 3) - 1)
        : state.durationInMinutes,
      astUpdateTime: state.updateTime,
    };
  }

  @ServiceOperation('getMachineActivityLog', 'POST', {
    summary: 'The state history of a machine in a window of at most 30 days.',
    causes: {
      204: 'No data.',
      422: 'Machine ID missing or does not exist; start or end time missing; start time later than end time; period above 30 days.',
    },
  })
  @ApiOkResponse({ type: ActivityLogEntry, isArray: true })
  getMachineActivityLog(
    @Body() window: ActivityRequest,
    @StalenessOfCall() { lagSeconds = 0, provisionalSeconds = 0 }: Staleness,
  ): ActivityLogEntry[] | null {
    const machine = this.machines.getOr422(window.machineId);
    const refusal = refuseWindow(window);
    if (refusal !== null) throw new UnprocessableEntityException(refusal);
    const periods = visiblePeriods(machine, window, {
      now: this.clock.nowSeconds() - lagSeconds,
      provisionalSeconds,
      clip: this.options.clipActivityLog,
    });
    if (periods.length === 0) return null;
    return periods.map((period) => ({
      ...period,
      durationInMinutes: Math.floor((period.endTime - period.startTime) / 60),
    }));
  }
}

/** Interface, "Limits". */
const LONGEST_WINDOW_SECONDS = 30 * 24 * 3600;

/** Why an activity log of this window (epoch seconds) is refused, or null. */
function refuseWindow(window: { startTime: number; endTime: number }): string | null {
  if (window.startTime > window.endTime) return 'startTime is later than endTime';
  if (window.endTime - window.startTime > LONGEST_WINDOW_SECONDS) {
    return 'the requested period is above the maximum of 30 days';
  }
  return null;
}
