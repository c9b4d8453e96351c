import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { parseWorkOrderLists, refuseIssuedAhead, TOPICS } from '#libs/contracts';
import { handleEach, type InboundMessage } from '#libs/kafka';
import { CommandOutcomes, MessageResults, rejection } from '../../delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { WorkOrderLists } from './work-order-lists.js';

/** `erp.work-order-lists.v1`: replacement lists, each the whole list of a machine. */
@Controller()
export class WorkOrderListsController {
  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
  ) {}

  @EventPattern(TOPICS.workOrderLists)
  handle(messages: readonly InboundMessage[]): void {
    handleEach(messages, this.accept);
  }

  private readonly accept = (message: InboundMessage): void => {
    const { target, envelope } = this.outcomes.openMessage(message);
    const parsed = envelope.ok ? parseWorkOrderLists(envelope.value.body) : envelope;
    if (!parsed.ok) {
      message.finish(this.outcomes.resultRecords(target, [rejection(parsed.rejection)]));
      return;
    }
    const { assignments, faults } = refuseIssuedAhead(
      parsed.value,
      this.clock.nowSeconds(),
      this.settings.erp.commandMaxSkewSeconds,
    );
    const faulty = faults.map((fault) => rejection(fault.rejection, fault.machineId));
    let item = -1;
    const open = assignments.flatMap((list) => {
      // The place in the message does not depend on the clock. Lists are in order: search behind the previous one.
      item = parsed.value.assignments.indexOf(list, item + 1);
      // An earlier owner of the partition has published this item.
      return message.isItemDone(item) ? [] : [{ list, item }];
    });
    if (assignments.length + faults.length > 1) target.namesOthers = true;
    const results = new MessageResults(target, open.length, faulty, this.outcomes.resultRecords);
    for (const { list, item: place } of open) {
      this.lists.flow.submitCommand(list.machineId, list, results, place);
    }
  };
}
