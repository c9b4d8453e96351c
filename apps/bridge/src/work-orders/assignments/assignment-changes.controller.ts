import { Controller, Logger } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type InboundMessage } from '#libs/messaging';
import { ASSIGNMENT_CHANGES, parseAssignmentChanges } from './assignment-change.js';
import { Assignments } from './assignments.js';
import { type ReadChanges } from './changes-partition.js';

/** `machine-bridge.assignment-changes.v1`: what orders change on machines, on its way to their lists. */
@Controller()
export class AssignmentChangesController {
  private readonly logger = new Logger('AssignmentChanges');

  constructor(private readonly assignments: Assignments) {}

  /** Resolves once others may come: each message may tell of many changes. */
  @EventPattern(ASSIGNMENT_CHANGES)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    const read: ReadChanges[] = [];
    for (const message of messages) {
      const { partition, offset, value } = message;
      if (value === null) {
        // The tombstone of changes that are done with.
        message.finish();
        continue;
      }
      const changes = parseAssignmentChanges(value);
      if (changes !== undefined) {
        read.push({ message, changes });
        continue;
      }
      this.logger.error({ msg: 'passed over: no assignment changes', partition, offset });
      message.finish();
    }
    await this.assignments.take(read);
  }
}
