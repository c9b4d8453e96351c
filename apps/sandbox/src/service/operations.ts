/** Scopes of tokens, whose names the interface leaves open. */
export const SCOPES = [
  'machine-info',
  'machine-state',
  'machine-activity',
  'classification-reasons',
  'classification-write',
  'work-order-write',
] as const;

export type Scope = (typeof SCOPES)[number];

export const ALL_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);

export function isScope(name: unknown): name is Scope {
  return ALL_SCOPES.has(name as Scope);
}

/**
 * The six operations of the interface and the login: the required scope (null: no token) and the paths under
 * `/api/v1`. The interface has both spellings of the directory's path.
 */
export const OPERATIONS = {
  getMachineInfo: { scope: 'machine-info', paths: ['mahcineInfo', 'MahcineInfo'] },
  getMachineState: { scope: 'machine-state', paths: ['machineState'] },
  getMachineActivityLog: { scope: 'machine-activity', paths: ['machineActivity'] },
  getClassificationReasons: { scope: 'classification-reasons', paths: ['machineClassifications'] },
  setMachineClassification: { scope: 'classification-write', paths: ['machineClassification'] },
  setWorkOrderList: { scope: 'work-order-write', paths: ['workOrderList'] },
  getAPIToken: { scope: null, paths: ['security/getAPIToken'] },
} satisfies Record<string, { scope: Scope | null; paths: string[] }>;

export type Operation = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];
