import type { FramedOutput } from '#libs/contracts';

/** Made of docs/schemas by tools/check/output-schemas.mjs: the image of the bridge has no docs. */
export const OUTPUT_SCHEMAS: Readonly<Record<FramedOutput, object>> = {
  'state-events': {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A change of the state of a machine',
    anyOf: [
      { $ref: '#/definitions/machine-state-changed' },
      { $ref: '#/definitions/machine-state-corrected' },
      { $ref: '#/definitions/machine-observation-lost' },
      { $ref: '#/definitions/machine-observation-restored' },
    ],
    definitions: {
      'machine-state-changed': {
        title: 'A state period began',
        type: 'object',
        required: [
          'machineId',
          'factoryId',
          'state',
          'previousState',
          'startTime',
          'previousStartTime',
          'detectedAt',
          'revision',
          'startTimeSource',
        ],
        properties: {
          machineId: { $ref: '#/definitions/machineId' },
          factoryId: { $ref: '#/definitions/factoryId' },
          state: { $ref: '#/definitions/machineState' },
          previousState: {
            description: 'Null for the first observation ever made of the machine.',
            allOf: [{ $ref: '#/definitions/machineStateOrNull' }],
          },
          startTime: { $ref: '#/definitions/epochSeconds' },
          previousStartTime: {
            description: 'Null when previousState is.',
            anyOf: [{ $ref: '#/definitions/epochSeconds' }, { type: 'null' }],
          },
          detectedAt: {
            description: 'When the bridge noticed it.',
            allOf: [{ $ref: '#/definitions/epochSeconds' }],
          },
          revision: {
            description:
              '0 for the first publication of a period; more if the same was published and withdrawn before.',
            allOf: [{ $ref: '#/definitions/count' }],
          },
          startTimeSource: {
            description:
              'Whether startTime was read from the activity log or reckoned from how long the state had lasted.',
            enum: ['activityLog', 'duration'],
          },
          previousEndTime: {
            description:
              'Where the previous period ended, if nothing is known of the time between it and this one: no data, or a loss or a downtime of which no log could be read; else absent.',
            allOf: [{ $ref: '#/definitions/epochSeconds' }],
          },
          historyTruncatedBefore: {
            description:
              'Nothing before this time could be read; on the first event after a gap that was too long, else absent.',
            allOf: [{ $ref: '#/definitions/epochSeconds' }],
          },
        },
      },
      machineId: {
        type: 'string',
        minLength: 1,
        description: "The machine's ID as the Machine Data Service has it.",
      },
      factoryId: {
        type: 'string',
        minLength: 1,
        description: "The factory's ID as the Machine Data Service has it.",
      },
      machineState: { enum: ['OPERATING', 'IDLE', 'OFF'] },
      machineStateOrNull: { enum: ['OPERATING', 'IDLE', 'OFF', null] },
      epochSeconds: { type: 'integer', minimum: 0, maximum: 99999999999 },
      count: { type: 'integer', minimum: 0, maximum: 9007199254740991 },
      'machine-state-corrected': {
        title: 'A period that was published turned out to be different',
        type: 'object',
        allOf: [{ $ref: '#/definitions/machine-state-changed' }],
        required: ['corrects'],
        properties: {
          revision: { type: 'integer', minimum: 1 },
          corrects: {
            description: 'The ce_id of the event that this one replaces.',
            allOf: [{ $ref: '#/definitions/eventId' }],
          },
        },
      },
      eventId: {
        type: 'string',
        pattern: '^[0-9a-f]{64}$',
        description: 'The same event found again after a crash has the same id.',
      },
      'machine-observation-lost': {
        title: 'Nothing is known of a machine any longer',
        description: 'Says nothing about its state: it may be running.',
        type: 'object',
        required: ['machineId', 'factoryId', 'reason', 'since', 'detectedAt', 'lastState'],
        properties: {
          machineId: { $ref: '#/definitions/machineId' },
          factoryId: { $ref: '#/definitions/factoryId' },
          reason: {
            description:
              'noData: the service has none. stale: its latest update is older than STALE_AFTER_SECONDS. unreachable, forbidden: no answer, or 401 or 403, for that long. removed: gone from the list of machines.',
            enum: ['noData', 'stale', 'unreachable', 'forbidden', 'removed'],
          },
          since: {
            description: 'From when on nothing is known.',
            allOf: [{ $ref: '#/definitions/epochSeconds' }],
          },
          detectedAt: { $ref: '#/definitions/epochSeconds' },
          lastState: {
            description: 'Null if it was never observed.',
            allOf: [{ $ref: '#/definitions/machineStateOrNull' }],
          },
        },
      },
      'machine-observation-restored': {
        title: 'A machine is observed again',
        description: 'The changes missed in between follow, then the present state.',
        type: 'object',
        required: ['machineId', 'factoryId', 'lostSince', 'restoredAt', 'detectedAt'],
        properties: {
          machineId: { $ref: '#/definitions/machineId' },
          factoryId: { $ref: '#/definitions/factoryId' },
          lostSince: {
            description: 'As since of the loss.',
            allOf: [{ $ref: '#/definitions/epochSeconds' }],
          },
          restoredAt: { $ref: '#/definitions/epochSeconds' },
          detectedAt: { $ref: '#/definitions/epochSeconds' },
          historyTruncatedBefore: {
            description: 'Nothing of the time before could be read; absent when all could.',
            allOf: [{ $ref: '#/definitions/epochSeconds' }],
          },
        },
      },
    },
  },
  'latest-states': {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'The latest state of a machine',
    anyOf: [{ $ref: '#/definitions/machine-state' }],
    definitions: {
      'machine-state': {
        title: 'The latest state of a machine',
        type: 'object',
        required: [
          'machineId',
          'factoryId',
          'displayName',
          'state',
          'startTime',
          'observation',
          'lastUpdateTime',
          'sequence',
          'settledUntil',
        ],
        properties: {
          machineId: { $ref: '#/definitions/machineId' },
          factoryId: { $ref: '#/definitions/factoryId' },
          displayName: { type: 'string' },
          state: {
            description:
              'The last known one, whatever observation says; null until the machine was first observed.',
            allOf: [{ $ref: '#/definitions/machineStateOrNull' }],
          },
          startTime: {
            description: 'Null when state is.',
            anyOf: [{ $ref: '#/definitions/epochSeconds' }, { type: 'null' }],
          },
          observation: {
            description:
              'Whether the machine is observed at present, and if not, why. One that is removed has no record.',
            enum: ['ok', 'noData', 'stale', 'unreachable', 'forbidden'],
          },
          lastUpdateTime: {
            description:
              "Of the service's latest update when this record was written; null before the first.",
            anyOf: [{ $ref: '#/definitions/epochSeconds' }, { type: 'null' }],
          },
          sequence: {
            description: "The ce_sequence of the machine's latest event; 0 before the first.",
            allOf: [{ $ref: '#/definitions/count' }],
          },
          settledUntil: {
            description:
              'What began before does not change any more, and nothing is added before it; null while no period is settled. Records of versions before this field lack it.',
            anyOf: [{ $ref: '#/definitions/epochSeconds' }, { type: 'null' }],
          },
        },
      },
      machineId: {
        type: 'string',
        minLength: 1,
        description: "The machine's ID as the Machine Data Service has it.",
      },
      factoryId: {
        type: 'string',
        minLength: 1,
        description: "The factory's ID as the Machine Data Service has it.",
      },
      machineStateOrNull: { enum: ['OPERATING', 'IDLE', 'OFF', null] },
      epochSeconds: { type: 'integer', minimum: 0, maximum: 99999999999 },
      count: { type: 'integer', minimum: 0, maximum: 9007199254740991 },
    },
  },
  outcomes: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'What became of an input message',
    anyOf: [
      { $ref: '#/definitions/outcome-applied' },
      { $ref: '#/definitions/outcome-superseded' },
      { $ref: '#/definitions/outcome-rejected' },
      { $ref: '#/definitions/outcome-deferred' },
    ],
    definitions: {
      'outcome-applied': {
        title: 'The service has taken it',
        type: 'object',
        allOf: [{ $ref: '#/definitions/command-outcome' }],
        properties: {
          machineId: { description: 'Null of orders that concern no machine: they are known now.' },
          code: { type: 'null' },
          detail: { type: 'null' },
          attempts: {
            description: 'Calls made to the service for it; 0 of orders that concern no machine.',
            allOf: [{ $ref: '#/definitions/count' }],
          },
          appliedAt: { type: 'integer' },
          workingOrders: {
            description:
              'The list that the service now has, its first 100 entries; of lists alone.',
            type: 'array',
            items: { type: 'string' },
            maxItems: 100,
          },
        },
      },
      'command-outcome': {
        title:
          'What became of an input message, for one of the machines it names, of one of its orders where it tells of orders',
        type: 'object',
        required: ['machineId', 'source', 'code', 'detail', 'attempts', 'appliedAt'],
        properties: {
          machineId: {
            description: 'Null when the message names no readable machine.',
            anyOf: [{ $ref: '#/definitions/machineId' }, { type: 'null' }],
          },
          orderId: {
            description:
              'The order it is about; of messages of erp.work-orders.v1 whose orders could be read.',
            type: 'string',
            minLength: 1,
          },
          source: {
            description: 'Where the input message lies.',
            type: 'object',
            required: ['topic', 'partition', 'offset', 'messageId'],
            properties: {
              topic: {
                description: 'The full name, KAFKA_TOPIC_PREFIX included.',
                type: 'string',
                minLength: 1,
              },
              partition: { $ref: '#/definitions/count' },
              offset: { $ref: '#/definitions/count' },
              messageId: {
                description: "The message's ce_id or message-id.",
                type: ['string', 'null'],
              },
              sender: {
                description: 'The sender of ingest that the message came from; absent of others.',
                type: 'string',
                minLength: 1,
              },
            },
          },
          code: {
            description: 'Of a rejection; null otherwise.',
            anyOf: [{ $ref: '#/definitions/rejectionCode' }, { type: 'null' }],
          },
          detail: {
            description: 'A sentence for people.',
            type: ['string', 'null'],
            maxLength: 300,
          },
          attempts: {
            description: 'Calls made to the service for it.',
            allOf: [{ $ref: '#/definitions/count' }],
          },
          appliedAt: {
            description: 'Null unless applied.',
            anyOf: [{ $ref: '#/definitions/epochSeconds' }, { type: 'null' }],
          },
        },
      },
      machineId: {
        type: 'string',
        minLength: 1,
        description: "The machine's ID as the Machine Data Service has it.",
      },
      count: { type: 'integer', minimum: 0, maximum: 9007199254740991 },
      rejectionCode: {
        description: 'Why a message was refused. The list is closed.',
        enum: [
          'invalid-json',
          'invalid-message',
          'unknown-machine',
          'unknown-reason',
          'missing-times',
          'start-after-end',
          'start-in-future',
          'too-large',
          'unmapped-work-centre',
          'rejected-by-service',
        ],
      },
      epochSeconds: { type: 'integer', minimum: 0, maximum: 99999999999 },
      'outcome-superseded': {
        title: 'A newer list was there already: nothing is sent',
        type: 'object',
        allOf: [{ $ref: '#/definitions/command-outcome' }],
        properties: {
          machineId: {
            description:
              'Null of orders that concern no machine: something newer is known of them.',
          },
          code: { type: 'null' },
          detail: { type: 'string', minLength: 1 },
          appliedAt: { type: 'null' },
        },
      },
      'outcome-rejected': {
        title: 'It is refused and set aside as a dead letter',
        type: 'object',
        allOf: [{ $ref: '#/definitions/command-outcome' }],
        properties: {
          code: { type: 'string' },
          detail: { type: 'string', minLength: 1 },
          appliedAt: { type: 'null' },
        },
      },
      'outcome-deferred': {
        title: 'It waits for the service, or its order for the ERP; a final outcome follows',
        type: 'object',
        allOf: [{ $ref: '#/definitions/command-outcome' }],
        properties: {
          code: { type: 'null' },
          detail: { type: 'string', minLength: 1 },
          appliedAt: { type: 'null' },
        },
        anyOf: [{ properties: { machineId: { type: 'string' } } }, { required: ['orderId'] }],
      },
    },
  },
};
