import { Controller, Logger } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type InboundMessage } from '#libs/messaging';
import { ASSIGNMENT_CHANGES, parseAssignmentChange } from './assignment-change.js';
import { Assignments } from './assignments.js';
import { type ChangeEntry } from './partition-assignments.js';

/** `machine-bridge.assignment-changes.v1`: what orders change on machines, on its way to their lists. */
@Controller()
export class AssignmentChangesController {
  private readonly logger = new Logger('AssignmentChanges');

  constructor(private readonly assignments: Assignments) {}

  @EventPattern(ASSIGNMENT_CHANGES)
  handle(messages: readonly InboundMessage[]): void {
    const entries: ChangeEntry[] = [];
    for (const message of messages) {
      const { partition, offset } = message;
      if (message.value === null) {
        // The tombstone of a change that is done with.
        message.finish();
        continue;
      }
      const change = parseAssignmentChange(message.value);
      if (change !== undefined) {
        entries.push({ message, offset, change });
        continue;
      }
      this.logger.error({ msg: 'passed over: no assignment change', partition, offset });
      message.finish();
    }
    const [first] = entries;
    if (first !== undefined) this.assignments.take(first.message.partition, entries);
  }
}
