export const MACHINE_STATES = ['OPERATING', 'IDLE', 'OFF'] as const;

export type MachineState = (typeof MACHINE_STATES)[number];

/** What the one-minute calculation made of a minute; null is "no data". */
export type MinuteState = MachineState | null;
