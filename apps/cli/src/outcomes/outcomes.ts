import { isJsonObject } from '#libs/contracts';
import { askBridge, isListOf } from '../command-line/bridge.js';
import {
  BRIDGE_OPTION,
  type BridgeOptions,
  type CliCommand,
  JSON_OPTION,
} from '../command-line/command.js';
import { readLimit, readNotEmpty, readTime } from '../command-line/option-values.js';
import { printRecords, printStatus, visible } from '../command-line/output.js';
import { timeText } from '../dlq/format-dead-letter.js';

/** Limit of the bridge's answer. */
const MOST_OUTCOMES = 1000;

interface OutcomesOptions extends BridgeOptions {
  message?: string;
  order?: string;
  machine?: string;
  since?: number;
  limit?: number;
}

/** The answer of `GET /api/outcomes`. */
interface FoundOutcomes {
  outcomes: {
    type: string;
    publishedAt: number;
    machineId: string | null;
    orderId?: string;
    code: string | null;
    detail: string | null;
    source: { messageId: string | null };
  }[];
  cut: string | null;
}

export function addOutcomesCommand(program: CliCommand): void {
  const command = program
    .command('outcomes')
    .description(
      'Shows what became of a message, an order or the messages of a machine, newest first.',
    )
    .option('--message <messageId>', 'of the message with this ce_id or message-id', readNotEmpty)
    .option('--order <orderId>', 'of this order, lists among them that name it', readNotEmpty)
    .option('--machine <machineId>', 'of this machine', readNotEmpty)
    .option('--since <time>', 'published since then: RFC 3339 or epoch seconds', readTime)
    .option('--limit <count>', 'at most so many, 100 without it', (text) =>
      readLimit(text, MOST_OUTCOMES),
    )
    .option(...BRIDGE_OPTION)
    .option(...JSON_OPTION)
    .action((options: OutcomesOptions) => {
      const { message, order, machine } = options;
      if ((message ?? order ?? machine) === undefined) {
        command.refuseUsage('name a --message, an --order or a --machine');
      }
      return showOutcomes(options);
    });
}

function isFound(json: unknown): boolean {
  return isJsonObject(json) && isListOf('type', 'publishedAt', 'source')(json['outcomes']);
}

async function showOutcomes(options: OutcomesOptions): Promise<void> {
  const { message, order, machine, since, limit, bridge, json = false } = options;
  const asked = { messageId: message, orderId: order, machineId: machine, since, limit };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    if (value !== undefined) query.set(name, String(value));
  }
  const path = `/api/outcomes?${query.toString()}`;
  const { outcomes, cut } = await askBridge<FoundOutcomes>(bridge, path, isFound);
  printRecords(outcomes, json, {
    heading: ['published', 'outcome', 'machine', 'order', 'message', 'code', 'detail'],
    cells: ({ publishedAt, type, machineId, orderId, source, code, detail }) => [
      timeText(publishedAt),
      type,
      machineId ?? '-',
      orderId ?? '-',
      source.messageId ?? '-',
      code ?? '-',
      detail ?? '-',
    ],
  });
  if (cut !== null) printStatus(`there may be more: ${visible(cut)}`);
}
