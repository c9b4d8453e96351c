import { Option, SubCommand } from 'nest-commander';
import { commandKafkaSettings } from '../command-line/command-kafka.js';
import { interruption } from '../command-line/interruption.js';
import { print } from '../command-line/terminal.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { inputTopics } from './dead-letter-topics.js';
import { type LetterSelection } from './letter-selection.js';
import { rehearseReplay, replayLetters, type ReplayTask } from './replay-letters.js';
import { ReplayPrinter } from './replay-printer.js';
import { type ReplayTally, tallyText } from './replay-tally.js';
import { SelectingCommand } from './selecting-command.js';

interface ReplayOptions extends LetterSelection {
  all?: boolean;
  again?: boolean;
  yes?: boolean;
}

/** `dlq replay <topic>`: puts messages back where they came from. */
@SubCommand({
  name: 'replay',
  arguments: '<topic>',
  description:
    'Puts the messages of dead letters back on the topic they came from, byte for byte, and remembers ' +
    'that. Without --yes it only says what it would do.',
})
export class ReplayCommand extends SelectingCommand {
  async run([name = '']: string[], options: ReplayOptions): Promise<void> {
    const { all = false, again = false, yes = false, ...selection } = options;
    if (!all && Object.keys(selection).length === 0) {
      this.refuse('say which letters, for instance with --code, or --all of them');
    }
    const settings = commandKafkaSettings();
    const log = new DeadLetterLog(settings);
    const listing = await log.topics();
    const spans = await log.spans(this.topicCalled(name, listing));
    const order = { selection, again, inputTopics: new Set(inputTopics(listing)) };
    const printer = new ReplayPrinter();
    const task: ReplayTask = { log, spans, order, signal: interruption(), printer };
    try {
      await (yes ? replayLetters(task, settings) : rehearseReplay(task));
    } finally {
      print(tallyText(printer.tally, !yes));
    }
    this.close(printer.tally, yes, task.signal);
  }

  /** @throws Error when not everything was done that was asked for */
  private close(tally: ReplayTally, yes: boolean, { aborted }: AbortSignal): void {
    if (aborted && yes) throw new Error('stopped early: the same command goes on from here');
    if (aborted) throw new Error('stopped before everything was read');
    if (!yes) print('Nothing has been sent: add --yes to do it.');
    else if (tally.impossible > 0) throw new Error('not everything could be replayed');
  }

  @Option({ flags: '--all', description: 'every letter of the topic' })
  all(): boolean {
    return true;
  }

  @Option({ flags: '--again', description: 'those too that have been replayed before' })
  again(): boolean {
    return true;
  }

  @Option({ flags: '--yes', description: 'really does it' })
  yes(): boolean {
    return true;
  }
}
