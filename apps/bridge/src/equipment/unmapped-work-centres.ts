import { Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { OrderOperation } from '#libs/contracts';
import { BoundedMap } from '../platform/index.js';
import { Equipment } from './equipment.js';

/** A place that orders name and no machine is mapped for. */
export interface UnmappedWorkCentre {
  /** Null where the order names none. */
  plant: string | null;
  workCentre: string | null;
  /** Operations that were rejected for it since this process runs. */
  operations: number;
  /** Some of the orders they belong to, the latest last. */
  orderIds: string[];
  /** Epoch seconds. */
  firstSeenAt: number;
  lastSeenAt: number;
}

/** Orders may name any place: those not named for longest are forgotten. */
const MOST_PLACES = 1000;
const MOST_EXAMPLES = 5;

/** What to put into the equipment map next. Forgotten once it is found mapped, and at a restart. */
@Injectable()
export class UnmappedWorkCentres {
  private readonly places = new BoundedMap<string, UnmappedWorkCentre>(MOST_PLACES);

  constructor(
    private readonly clock: Clock,
    private readonly equipment: Equipment,
  ) {}

  note(orderId: string, { plant = null, workCentre = null }: Place): void {
    const now = this.clock.nowSeconds();
    const key = JSON.stringify([plant, workCentre]);
    const known = this.places.get(key);
    this.places.set(key, {
      plant,
      workCentre,
      operations: (known?.operations ?? 0) + 1,
      orderIds: [...(known?.orderIds ?? []).filter((id) => id !== orderId), orderId].slice(
        -MOST_EXAMPLES,
      ),
      firstSeenAt: known?.firstSeenAt ?? now,
      lastSeenAt: now,
    });
  }

  /** The work centres with the most operations first. */
  list(): UnmappedWorkCentre[] {
    for (const [key, { plant, workCentre }] of this.places) {
      const place = {
        ...(plant !== null && { plant }),
        ...(workCentre !== null && { workCentre }),
      };
      if (this.equipment.machineOf(place) !== undefined) this.places.delete(key);
    }
    return [...this.places.values()].sort((a, b) => b.operations - a.operations);
  }
}

type Place = { [Part in 'plant' | 'workCentre']?: OrderOperation[Part] | null };
