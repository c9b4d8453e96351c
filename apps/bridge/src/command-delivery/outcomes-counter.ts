import { Counter } from 'prom-client';

export function outcomesCounter(): Counter<'flow' | 'outcome' | 'code'> {
  return new Counter({
    name: 'machine_bridge_command_outcomes_total',
    help: 'Input messages by machine, by flow and by what became of them',
    labelNames: ['flow', 'outcome', 'code'],
    registers: [],
  });
}
