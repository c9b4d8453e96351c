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
 * The six operations of the interface and the login: the required scope (null: no token), the methods (others are
 * answered with 405) and the paths under `/api/v1`. The interface has both spellings of the directory's path.
 */
export const OPERATIONS = {
  getMachineInfo: {
    scope: 'machine-info',
    methods: ['GET'],
    paths: ['mahcineInfo', 'MahcineInfo'],
  },
  getMachineState: { scope: 'machine-state', methods: ['GET'], paths: ['machineState'] },
  getMachineActivityLog: {
    scope: 'machine-activity',
    methods: ['POST'],
    paths: ['machineActivity'],
  },
  getClassificationReasons: {
    scope: 'classification-reasons',
    methods: ['GET', 'POST'],
    paths: ['machineClassifications'],
  },
  setMachineClassification: {
    scope: 'classification-write',
    methods: ['POST'],
    paths: ['machineClassification'],
  },
  setWorkOrderList: { scope: 'work-order-write', methods: ['PUT'], paths: ['workOrderList'] },
  getAPIToken: { scope: null, methods: ['POST'], paths: ['security/getAPIToken'] },
} satisfies Record<string, { scope: Scope | null; methods: string[]; paths: string[] }>;

export type Operation = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];
