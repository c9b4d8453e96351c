/** What a token may be allowed to do; the interface leaves the names open. */
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

/** The six operations of the interface and the login. */
export const OPERATIONS = [
  'getMachineInfo',
  'getMachineState',
  'getMachineActivityLog',
  'getClassificationReasons',
  'setMachineClassification',
  'setWorkOrderList',
  'getAPIToken',
] as const;

export type Operation = (typeof OPERATIONS)[number];

/** The scope a token needs for an operation; null: no token is needed. */
export const SCOPE_OF: Readonly<Record<Operation, Scope | null>> = {
  getMachineInfo: 'machine-info',
  getMachineState: 'machine-state',
  getMachineActivityLog: 'machine-activity',
  getClassificationReasons: 'classification-reasons',
  setMachineClassification: 'classification-write',
  setWorkOrderList: 'work-order-write',
  getAPIToken: null,
};

/** Under `/api/v1`; both spellings of the directory's path are the interface's. */
export const PATHS_OF = {
  getMachineInfo: ['mahcineInfo', 'MahcineInfo'],
  getMachineState: ['machineState'],
  getMachineActivityLog: ['machineActivity'],
  getClassificationReasons: ['machineClassifications'],
  setMachineClassification: ['machineClassification'],
  setWorkOrderList: ['workOrderList'],
  getAPIToken: ['security/getAPIToken'],
} satisfies Record<Operation, string[]>;

/** The methods the interface gives an operation; any other is answered with 405. */
export const METHODS_OF: Readonly<Record<Operation, readonly string[]>> = {
  getMachineInfo: ['GET'],
  getMachineState: ['GET'],
  getMachineActivityLog: ['POST'],
  getClassificationReasons: ['GET', 'POST'],
  setMachineClassification: ['POST'],
  setWorkOrderList: ['PUT'],
  getAPIToken: ['POST'],
};
