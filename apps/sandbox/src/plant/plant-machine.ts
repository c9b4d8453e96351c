import type { ForcibleTimeline } from './forcible-timeline.js';

export interface ClassificationReason {
  name: string;
  code: string;
}

/** A machine of the plant; names as in the interface ("Machine info entry"). */
export interface PlantMachine {
  machineId: string;
  /** Display names by language, such as `{"en": "Milling centre 1"}`. */
  machineDisplayName: Record<string, string>;
  factoryId: string;
  factoryName: string;
  reasons: readonly ClassificationReason[];
  /** 0 to 59: how long after the end of a minute its state becomes visible. */
  updatePhaseSeconds: number;
  timeline: ForcibleTimeline;
}
