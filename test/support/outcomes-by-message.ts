import { TOPICS } from '#libs/contracts';
import { header, json, messageIdOf, type TopicReader } from './topic-reader.js';

/** The published outcomes of messages, by their `message-id`, in alphabetical order. */
export function outcomesByMessage(outcomes: TopicReader): Record<string, string[]> {
  const published: Record<string, string[]> = {};
  for (const outcome of outcomes.records) {
    if (outcome.topic !== TOPICS.commandOutcomes) continue;
    const what = header(outcome, 'ce_type')?.split('.')[1] ?? '';
    (published[messageIdOf(outcome)] ??= []).push(`${String(json(outcome)['machineId'])} ${what}`);
  }
  for (const outcomesOfOne of Object.values(published)) outcomesOfOne.sort();
  return published;
}
