import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Metric } from 'prom-client';
import { everyRealMs } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import { scrapedGauge } from '#libs/http-api';

const REVIEW_MS = 10_000;
/** From here on users notice that reasons wait; clocks that NTP keeps differ by less than a second. */
const WORTH_A_WARNING_MS = 5000;

/** Exports the offset of the service's clock from ours, and warns when it is large. */
@Injectable()
export class ServiceClockWatch implements OnModuleDestroy {
  readonly metrics: Metric[];
  private readonly logger = new Logger('ServiceClockWatch');
  private isFarOff = false;
  private readonly stop = everyRealMs(REVIEW_MS, () => this.reviewOffset());

  constructor(private readonly cloud: MachineCloudClient) {
    this.metrics = [
      scrapedGauge(
        'machine_bridge_service_clock_offset_seconds',
        "How far the service's clock is ahead of ours, by the Date of its answers; NaN while unknown",
        () => (cloud.clockOffset?.offsetMs ?? NaN) / 1000,
      ),
    ];
  }

  onModuleDestroy(): void {
    this.stop();
  }

  /** Logs once when the clocks differ, and once when they agree again. */
  reviewOffset(): void {
    const { clockOffset } = this.cloud;
    if (clockOffset === undefined) return;
    const { offsetMs, errorMs } = clockOffset;
    const offsetSeconds = Math.round(offsetMs / 100) / 10;
    if (!this.isFarOff && Math.abs(offsetMs) - errorMs > WORTH_A_WARNING_MS) {
      this.isFarOff = true;
      this.logger.warn({
        msg: "the service's clock differs from ours",
        offsetSeconds,
        meaning:
          offsetSeconds < 0
            ? 'it is behind: reasons that begin now wait until they have begun there'
            : 'it is ahead: its states look more recent than they are, and those of a terminal set by it lie ahead',
        do: 'check NTP on this host, then on the service',
      });
    } else if (this.isFarOff && Math.abs(offsetMs) + errorMs < WORTH_A_WARNING_MS) {
      this.isFarOff = false;
      this.logger.log({ msg: "the service's clock agrees with ours again", offsetSeconds });
    }
  }
}
