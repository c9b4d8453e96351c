import type { Scope } from './access/scopes.js';

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
