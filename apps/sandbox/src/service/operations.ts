/**
 * The six operations of the interface and the login: the required scope (null: no token) and the paths under
 * `/api/v1`. The interface leaves the names of scopes open, and has both spellings of the directory's path.
 */
export const OPERATIONS = {
  getMachineInfo: { scope: 'machine-info', paths: ['mahcineInfo', 'MahcineInfo'] },
  getMachineState: { scope: 'machine-state', paths: ['machineState'] },
  getMachineActivityLog: { scope: 'machine-activity', paths: ['machineActivity'] },
  getClassificationReasons: { scope: 'classification-reasons', paths: ['machineClassifications'] },
  setMachineClassification: { scope: 'classification-write', paths: ['machineClassification'] },
  setWorkOrderList: { scope: 'work-order-write', paths: ['workOrderList'] },
  getAPIToken: { scope: null, paths: ['security/getAPIToken'] },
} as const;

export type Operation = keyof typeof OPERATIONS;

export type Scope = Exclude<(typeof OPERATIONS)[Operation]['scope'], null>;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];

export const ALL_SCOPES: ReadonlySet<Scope> = new Set(
  Object.values(OPERATIONS).flatMap(({ scope }) => scope ?? []),
);
