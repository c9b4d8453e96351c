/** The six operations of the Machine Data Service, by the names the bridge logs and counts them under. */
export type ServiceOperation =
  | 'getMachineInfo'
  | 'getMachineState'
  | 'getMachineActivityLog'
  | 'getClassificationReasons'
  | 'setMachineClassification'
  | 'setWorkOrderList';

/** Requests for an access token: the service's login, and the token endpoint of an OAuth 2.0 server. */
export type TokenOperation = 'getAPIToken' | 'getOAuthToken';

export type Operation = ServiceOperation | TokenOperation;
