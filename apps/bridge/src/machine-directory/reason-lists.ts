import { setMaxListeners } from 'node:events';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '#libs/clock';
import {
  type ClassificationReason,
  type CloudAnswer,
  MachineCloudClient,
} from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { CallSlots } from '#libs/delivery';
import { BRIDGE_SETTINGS, REASON_LOOK_UPS_AT_ONCE } from '../platform/index.js';
import { type DirectoryAnswer } from './directory-status.js';
import { PassedOverEntries } from './passed-over-entries.js';
import { ReasonList } from './reason-list.js';

/** Called each time a machine's reasons have been read; null when the service does not know the machine. */
export type ReasonListener = (
  machineId: string,
  reasons: readonly ClassificationReason[] | null,
) => void;

/** Messages may name machines that do not exist: what is remembered of them must not grow for ever. */
const MAX_MACHINES = 10_000;

/** The reasons that may be set for each machine (interface: MachineClassification), read when first needed. */
@Injectable()
export class ReasonLists implements OnApplicationShutdown {
  /** Entries of the lists that are passed over. */
  readonly incomplete = new PassedOverEntries('reasons');
  private readonly stopping = new AbortController();
  private readonly lookUps = new CallSlots(REASON_LOOK_UPS_AT_ONCE);
  private readonly lists = new Map<string, ReasonList>();
  /** Of machines that are read though nobody has asked for one of their reasons. */
  private readonly passing = new Map<string, ReasonList>();
  private listener: ReasonListener = () => undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly client: MachineCloudClient,
    private readonly clock: Clock,
  ) {
    // As many look-ups as machines listen to it; that is no leak.
    setMaxListeners(0, this.stopping.signal);
  }

  onRead(listener: ReasonListener): void {
    this.listener = listener;
  }

  has(machineId: string, reasonId: string): boolean {
    return this.lists.get(machineId)?.has(reasonId) === true;
  }

  check(machineId: string, reasonId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    return this.listOf(machineId).check(reasonId, signal);
  }

  /**
   * Reads the machine's reasons anew, whether anybody has asked for one of them or not. Who asks meanwhile
   * shares the look-up; what nobody asks for is not kept, in place of what somebody may ask for again, but where
   * the service asks to be left alone: whoever comes next has to know.
   */
  async refresh(
    machineId: string,
    signal: AbortSignal,
  ): Promise<CloudAnswer<ClassificationReason[]>> {
    const known = this.lists.get(machineId) ?? this.passing.get(machineId);
    const list = known ?? this.newList(machineId);
    if (known === undefined) this.passing.set(machineId, list);
    const answer = await list.refresh(signal).finally(() => {
      this.passing.delete(machineId);
    });
    if (list.isHeld) this.keep(machineId, list);
    return answer;
  }

  onApplicationShutdown(): void {
    this.stopping.abort(new Error('the machine directory is stopping'));
  }

  private listOf(machineId: string): ReasonList {
    const list =
      this.lists.get(machineId) ?? this.passing.get(machineId) ?? this.newList(machineId);
    this.keep(machineId, list);
    return list;
  }

  /** Moves the list to the end of the map, so that the first is the one longest unused. */
  private keep(machineId: string, list: ReasonList): void {
    this.lists.delete(machineId);
    this.lists.set(machineId, list);
    if (this.lists.size > MAX_MACHINES) {
      const [longestUnused] = this.lists.keys();
      if (longestUnused !== undefined) this.lists.delete(longestUnused);
    }
  }

  private newList(machineId: string): ReasonList {
    return new ReasonList({
      read: () => this.lookUps.run(() => this.read(machineId)),
      clock: this.clock,
      maxAgeSeconds: this.settings.reasonsRefreshSeconds,
      stopping: this.stopping.signal,
    });
  }

  private async read(machineId: string): Promise<CloudAnswer<ClassificationReason[]>> {
    const { signal } = this.stopping;
    const answer = await this.client.getClassificationReasons(machineId, signal);
    if (answer.kind === 'rejected') this.listener(machineId, null);
    if (answer.kind !== 'data' && answer.kind !== 'noData') return answer;
    const isEmpty = answer.kind === 'noData';
    this.incomplete.note(machineId, isEmpty ? undefined : answer.incomplete);
    this.listener(machineId, isEmpty ? [] : answer.data);
    return answer;
  }
}
