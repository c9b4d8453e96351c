import { Gauge, type Metric } from 'prom-client';
import { type Clock } from '#libs/clock';
import { type MachineList } from './machine-list.js';
import { type ReasonLists } from './reason-lists.js';

/** What the directory has to tell, asked for at each scrape. */
export function directoryMetrics(list: MachineList, reasons: ReasonLists, clock: Clock): Metric[] {
  return [
    new Gauge({
      name: 'machine_bridge_directory_machines',
      help: 'Machines the token may see',
      registers: [],
      collect() {
        this.set(list.machines.size);
      },
    }),
    new Gauge({
      name: 'machine_bridge_directory_age_seconds',
      help: 'Age of the machine list in seconds of the clock; -1 before the first',
      registers: [],
      collect() {
        const { loadedAt } = list.status;
        this.set(loadedAt === null ? -1 : clock.nowSeconds() - loadedAt);
      },
    }),
    new Gauge({
      name: 'machine_bridge_directory_incomplete_entries',
      help: 'Entries passed over because they lack an id or a code, by list',
      labelNames: ['list'],
      registers: [],
      collect() {
        this.set({ list: 'machines' }, list.incomplete.count());
        this.set({ list: 'reasons' }, reasons.incomplete.count(list.machines));
      },
    }),
  ];
}
