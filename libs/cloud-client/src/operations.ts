/** The six operations of the Machine Data Service, by the names the bridge logs and counts them under. */
export type Operation =
  | 'getMachineInfo'
  | 'getMachineState'
  | 'getMachineActivityLog'
  | 'getClassificationReasons'
  | 'setMachineClassification'
  | 'setWorkOrderList';
