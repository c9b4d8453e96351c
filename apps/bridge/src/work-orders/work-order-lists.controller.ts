import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { parseWorkOrderLists, TOPICS } from '#libs/contracts';
import { type InboundMessage } from '#libs/messaging';
import { CommandOutcomes, openMessage, rejection } from '../command-delivery/index.js';
import { WorkOrderLists } from './work-order-lists.js';

/** `erp.work-order-lists.v1`: replacement lists, each machine's as a whole. */
@Controller()
export class WorkOrderListsController {
  constructor(
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
  ) {}

  @EventPattern(TOPICS.workOrderLists)
  async handle(message: InboundMessage): Promise<void> {
    const { answered, parsed } = openMessage(message, ({ body }) => parseWorkOrderLists(body));
    if (!parsed.ok) {
      const fault = rejection(parsed.rejection);
      await this.outcomes.publish('work-order-list', answered, [fault]);
      return;
    }
    const { assignments, faults } = parsed.value;
    const settled = await Promise.all(
      assignments.map(({ workingOrders, ...list }) =>
        this.lists.set(
          { ...list, workingOrders: () => workingOrders, cumulative: false },
          answered,
        ),
      ),
    );
    const faulty = faults.map((fault) => rejection(fault.rejection, fault.machineId));
    await this.outcomes.publish('work-order-list', answered, [...settled, ...faulty]);
  }
}
