import type { Look } from './tiles.js';

export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

const en = {
  appName: 'Machine terminal',
  // views
  wall: 'Wall',
  needsReason: 'Needs a reason',
  handOver: 'Hand-over',
  views: 'Views',
  skipToContent: 'Skip to content',
  // states
  state: { OPERATING: 'Operating', IDLE: 'Idle', OFF: 'Off', NO_DATA: 'No data' } satisfies Record<
    Look,
    string
  >,
  observation: {
    ok: '',
    noData: 'No data from the service',
    stale: 'States are out of date',
    unreachable: 'The service does not answer',
    forbidden: 'The service denies access',
    unknown: 'Nothing known yet',
    removed: 'No longer in the service',
  },
  since: (time: string) => `since ${time}`,
  knownUpTo: (time: string) => `known up to ${time}`,
  statesKnownUpTo: (time: string) => `States are known up to ${time}.`,
  nothingKnown: 'nothing known yet',
  stillGoing: 'still going',
  stopRevisedAway: 'corrected by the service: the machine was running',
  now: 'now',
  noOrders: 'no order',
  ordersUnknown: 'orders not known',
  more: (count: number) => `+${count}`,
  stopsWithoutReason: (count: number) =>
    count === 1 ? '1 stop without a reason' : `${count} stops without a reason`,
  // wall
  allFactories: 'All factories',
  factory: 'Factory',
  search: 'Search',
  searchMachines: 'Machine or order',
  noMachineMatches: 'No machine matches.',
  showAll: 'Show all machines',
  noMachines:
    'No machines are known yet. They appear as soon as the bridge has read them from the service.',
  tilesLeftOut: (count: number) =>
    `${count === 1 ? '1 more machine' : `${count} more machines`}: choose a factory, a state or search.`,
  // stops
  newestFirst: 'Newest first',
  longestFirst: 'Longest first',
  order: 'Order',
  selectSeveral: 'Select several',
  cancel: 'Cancel',
  close: 'Close',
  giveReason: 'Give a reason',
  reasonFor: (count: number) => (count === 1 ? 'Reason for 1 stop' : `Reason for ${count} stops`),
  nothingToExplain: 'Every stop has its reason.',
  stopsAppear: (minutes: string) =>
    `Stops appear here once they are longer than ${minutes}. States are known one to two minutes late.`,
  shortStops: (count: number, span: string) =>
    count === 1
      ? `1 short stop, ${span}: needs no reason`
      : `${count} short stops, ${span} in all: need no reason`,
  moreStops: (count: number) => (count === 1 ? '1 more stop' : `${count} more stops`),
  stopOf: (state: string, from: string, to: string) => `${state} ${from} to ${to}`,
  stopsLeftOut: (count: number) => `${count} more below these. Choose a factory to see them.`,
  // reason sheet
  chooseReason: 'Why did it stop?',
  chooseReasonStanding: 'Why is it standing still?',
  chooseReasonOperating: 'Reason for time in operation',
  favourites: 'Used most here',
  otherReasons: 'More reasons',
  allReasons: 'Reasons',
  searchReasons: 'Search reasons',
  noReasonMatches: 'No reason matches.',
  noReasons: 'The service lists no reasons for this machine.',
  noCommonReasons: 'These machines have no reason in common. Select fewer.',
  reasonsNotLoaded:
    'The reasons have not been received yet. They appear when the connection is back.',
  openEndedHint: 'Runs until the machine operates again, at the latest to the end of the shift.',
  setOnlyHint: 'A reason can be set and replaced. The service cannot show or delete it.',
  statesLateHint: 'States are known one to two minutes late.',
  split: 'Split',
  dontSplit: 'Do not split',
  splitAt: 'Split at',
  minuteEarlier: '1 minute earlier',
  minuteLater: '1 minute later',
  confirmOperating: (span: string) => `The machine was operating for ${span} of this time.`,
  tapAgain: 'Tap again',
  tapAgainToSend: 'Tap again to send it all the same',
  replaces: (reason: string) => `Replaces: ${reason}`,
  // status of an entry
  undo: 'Undo',
  undoAll: (count: number) => `Undo all ${count}`,
  status: {
    undo: (seconds: number) => `Sends in ${seconds} s`,
    queued: 'Not sent yet',
    sending: 'Sending',
    sent: 'Sent, no answer yet',
    deferred: 'Waiting: the service is not available. It is sent as soon as it is.',
    applied: 'Applied',
    rejected: 'Refused',
    unanswered: 'Sent. What became of it is no longer known here.',
    refused: 'Not accepted',
    unconfirmed: 'The machine was operating in this time.',
  },
  sendAnyway: 'Send all the same',
  discard: 'Discard',
  correct: 'Correct',
  tryAnother: 'Choose another',
  refusals: {
    'unknown-reason': 'This machine does not have that reason (any more). Choose another one.',
    'unknown-machine': 'The service does not know this machine. Tell the shift lead.',
    'start-in-future':
      'It begins in the future. Check the clock of this device, then choose the reason again.',
    'start-after-end': 'It ends before it begins. Choose the reason for the stop again.',
    'too-large': 'It is too long. Shorten it and send it again.',
    'too-old': 'It is older than 30 days. It can no longer be set.',
    'end-unknown': 'When this stop ended is no longer known here. Tell the shift lead.',
    'entry-id-reused':
      'It was already sent with other times. Choose the reason for the stop again.',
    'rejected-by-service':
      'The service refused it. Choose another reason; if it fails again, tell the shift lead.',
  } as Record<string, string>,
  refusedOtherwise:
    'It was not accepted. Choose the reason again; if it fails again, tell the shift lead.',
  // machine
  orders: 'Orders',
  thisShift: 'This shift',
  lastShift: 'Last shift',
  shift: 'Shift',
  strip: 'Course of the shift',
  stripHelp: 'Arrow keys move between the bars, plus and minus zoom, Enter gives a reason.',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  earlier: 'Earlier',
  later: 'Later',
  movedMark: 'moved',
  movedHint: 'The service has corrected the stop this reason was given for. Check it.',
  correctedMark: 'corrected',
  reasonsGiven: 'Reasons given',
  noReasonsGiven: 'No reason in this shift yet.',
  stopsInShift: 'Stops without a reason',
  loading: 'Loading …',
  unknownMachine: 'This machine is not known here.',
  fromElsewhere: 'from another system',
  // notes
  notes: 'Notes',
  addNote: 'Add a note',
  noteText: 'Note',
  noteHint: 'Notes stay on the terminals. They are not sent to the service.',
  save: 'Save',
  saved: 'Saved',
  noNotes: 'No notes in this shift.',
  // hand-over
  unexplained: 'Without a reason',
  shortStopped: 'Short stops',
  stopped: 'Stopped',
  explained: 'With a reason',
  print: 'Print',
  machine: 'Machine',
  handOverUnsent: (count: number) =>
    count === 1
      ? '1 entry of this device has not been sent yet and is not counted.'
      : `${count} entries of this device have not been sent yet and are not counted.`,
  asOf: (time: string) => `as of ${time}`,
  // operator, station
  registerOperator: 'Who works here?',
  operatorHint: 'Scan your badge, or type your name or number. It stays until the shift ends.',
  operatorName: 'Name or number',
  register: 'Register',
  signOff: 'Sign off',
  nobody: 'Nobody registered',
  registered: (name: string) => `${name} is registered.`,
  notRegistered: 'Could not be registered. Try again.',
  registeredByProxy:
    'The sign-in before this page says who works here. Sign in there under your own name.',
  station: 'Station',
  signIn: 'Sign in this station',
  token: 'Token of the station',
  tokenHint: 'Whoever set up the terminal has it.',
  tokenWrong: 'This token is not known.',
  tooManyTokens: (seconds: number) =>
    `Too many wrong tokens were sent from here. Try again in ${seconds} s.`,
  signInAtProxy:
    'This station was signed out by the proxy before the server. Entries are kept here and sent once it is signed in again.',
  signInFailed: 'The server does not answer. Try again.',
  signOut: 'Sign out this station',
  // settings
  settings: 'Settings',
  language: 'Language',
  about: 'What this page can and cannot do',
  aboutLines: [
    'What you see here of reasons is what was sent on this system.',
    'A reason for a stop that is still going runs until the machine operates again, at the latest to the end of the shift, or until the next reason with an end is sent.',
    'Where no data was received nothing is assumed: hatched means not known, not off.',
  ],
  // connection
  live: 'Live',
  connecting: 'Connecting',
  restoring: 'The server is starting',
  kafkaDown: (time: string) => `Kafka is away since ${time}`,
  nothingNew: (time: string) => `States only up to ${time}`,
  offline: (time: string) => `No connection since ${time}`,
  notSent: (count: number, time: string) => `${count} not sent since ${time}`,
  entriesKept: 'Entries are kept here.',
  unreachable: (time: string | null) =>
    `The server cannot be reached${time === null ? '' : `. It was last heard at ${time}`}. Until it is back, only what was entered here is shown; it is kept, and sent later.`,
  notKept: 'Entries are not kept: do not close this page.',
  dismiss: 'Dismiss',
};

type Widen<T> = T extends (...args: infer A) => string
  ? (...args: A) => string
  : T extends string
    ? string
    : { [K in keyof T]: Widen<T[K]> };

export type Strings = Widen<typeof en>;

const de: Strings = {
  appName: 'Maschinen-Terminal',
  wall: 'Übersicht',
  needsReason: 'Ohne Grund',
  handOver: 'Übergabe',
  views: 'Ansichten',
  skipToContent: 'Zum Inhalt',
  state: { OPERATING: 'In Betrieb', IDLE: 'Stillstand', OFF: 'Aus', NO_DATA: 'Keine Daten' },
  observation: {
    ok: '',
    noData: 'Der Dienst hat keine Daten',
    stale: 'Zustände sind veraltet',
    unreachable: 'Der Dienst antwortet nicht',
    forbidden: 'Der Dienst verweigert den Zugriff',
    unknown: 'Noch nichts bekannt',
    removed: 'Nicht mehr im Dienst',
  },
  since: (time) => `seit ${time}`,
  knownUpTo: (time) => `bekannt bis ${time}`,
  statesKnownUpTo: (time) => `Zustände sind bis ${time} bekannt.`,
  nothingKnown: 'noch nichts bekannt',
  stillGoing: 'dauert an',
  stopRevisedAway: 'vom Dienst korrigiert: Maschine lief',
  now: 'jetzt',
  noOrders: 'kein Auftrag',
  ordersUnknown: 'Aufträge nicht bekannt',
  more: (count) => `+${count}`,
  stopsWithoutReason: (count) =>
    count === 1 ? '1 Stopp ohne Grund' : `${count} Stopps ohne Grund`,
  allFactories: 'Alle Werke',
  factory: 'Werk',
  search: 'Suche',
  searchMachines: 'Maschine oder Auftrag',
  noMachineMatches: 'Keine Maschine passt dazu.',
  showAll: 'Alle Maschinen zeigen',
  noMachines:
    'Noch sind keine Maschinen bekannt. Sie erscheinen, sobald die Bridge sie vom Dienst gelesen hat.',
  tilesLeftOut: (count) =>
    `${count === 1 ? '1 weitere Maschine' : `${count} weitere Maschinen`}: Werk oder Zustand wählen oder suchen.`,
  newestFirst: 'Neueste zuerst',
  longestFirst: 'Längste zuerst',
  order: 'Reihenfolge',
  selectSeveral: 'Mehrere wählen',
  cancel: 'Abbrechen',
  close: 'Schließen',
  giveReason: 'Grund angeben',
  reasonFor: (count) => (count === 1 ? 'Grund für 1 Stopp' : `Grund für ${count} Stopps`),
  nothingToExplain: 'Jeder Stopp hat seinen Grund.',
  stopsAppear: (minutes) =>
    `Stopps erscheinen hier, sobald sie länger als ${minutes} dauern. Zustände sind erst nach ein bis zwei Minuten bekannt.`,
  shortStops: (count, span) =>
    count === 1
      ? `1 kurzer Stopp, ${span}: braucht keinen Grund`
      : `${count} kurze Stopps, zusammen ${span}: brauchen keinen Grund`,
  moreStops: (count) => (count === 1 ? '1 weiterer Stopp' : `${count} weitere Stopps`),
  stopOf: (state, from, to) => `${state} ${from} bis ${to}`,
  stopsLeftOut: (count) => `${count} weitere nicht gezeigt. Werk wählen, um sie zu sehen.`,
  chooseReason: 'Warum stand sie?',
  chooseReasonStanding: 'Warum steht sie?',
  chooseReasonOperating: 'Grund für Zeit in Betrieb',
  favourites: 'Hier am häufigsten',
  otherReasons: 'Weitere Gründe',
  allReasons: 'Gründe',
  searchReasons: 'Gründe suchen',
  noReasonMatches: 'Kein Grund passt dazu.',
  noReasons: 'Der Dienst nennt für diese Maschine keine Gründe.',
  noCommonReasons: 'Diese Maschinen haben keinen gemeinsamen Grund. Weniger wählen.',
  reasonsNotLoaded: 'Die Gründe sind noch nicht da. Sie erscheinen, sobald die Verbindung steht.',
  openEndedHint: 'Gilt, bis die Maschine wieder läuft, längstens bis Schichtende.',
  setOnlyHint:
    'Ein Grund lässt sich setzen und ersetzen. Der Dienst kann ihn nicht zeigen oder löschen.',
  statesLateHint: 'Zustände sind erst nach ein bis zwei Minuten bekannt.',
  split: 'Teilen',
  dontSplit: 'Nicht teilen',
  splitAt: 'Teilen um',
  minuteEarlier: '1 Minute früher',
  minuteLater: '1 Minute später',
  confirmOperating: (span) => `Die Maschine lief ${span} dieser Zeit.`,
  tapAgain: 'Noch einmal tippen',
  tapAgainToSend: 'Noch einmal tippen, um ihn trotzdem zu senden',
  replaces: (reason) => `Ersetzt: ${reason}`,
  undo: 'Zurücknehmen',
  undoAll: (count) => `Alle ${count} zurücknehmen`,
  status: {
    undo: (seconds) => `Wird in ${seconds} s gesendet`,
    queued: 'Noch nicht gesendet',
    sending: 'Wird gesendet',
    sent: 'Gesendet, noch keine Antwort',
    deferred: 'Wartet: Der Dienst ist nicht erreichbar. Wird gesendet, sobald er es ist.',
    applied: 'Übernommen',
    rejected: 'Abgelehnt',
    unanswered: 'Gesendet. Was daraus wurde, ist hier nicht mehr bekannt.',
    refused: 'Nicht angenommen',
    unconfirmed: 'Die Maschine lief in dieser Zeit.',
  },
  sendAnyway: 'Trotzdem senden',
  discard: 'Verwerfen',
  correct: 'Ändern',
  tryAnother: 'Anderen wählen',
  refusals: {
    'unknown-reason': 'Diese Maschine hat den Grund nicht (mehr). Einen anderen wählen.',
    'unknown-machine': 'Der Dienst kennt die Maschine nicht. Der Schichtleitung melden.',
    'start-in-future':
      'Er beginnt in der Zukunft. Uhr des Geräts prüfen, dann den Grund erneut wählen.',
    'start-after-end': 'Er endet vor seinem Beginn. Den Grund für den Stopp erneut wählen.',
    'too-large': 'Zu lang. Kürzen und erneut senden.',
    'too-old': 'Älter als 30 Tage. Er lässt sich nicht mehr setzen.',
    'end-unknown':
      'Wann dieser Stopp endete, ist hier nicht mehr bekannt. Der Schichtleitung melden.',
    'entry-id-reused':
      'Er wurde schon mit anderen Zeiten gesendet. Den Grund für den Stopp erneut wählen.',
    'rejected-by-service':
      'Der Dienst hat ihn abgelehnt. Einen anderen wählen; hilft das nicht, der Schichtleitung melden.',
  },
  refusedOtherwise: 'Nicht angenommen. Erneut wählen; hilft das nicht, der Schichtleitung melden.',
  orders: 'Aufträge',
  thisShift: 'Diese Schicht',
  lastShift: 'Letzte Schicht',
  shift: 'Schicht',
  strip: 'Verlauf der Schicht',
  stripHelp:
    'Pfeiltasten wechseln zwischen den Balken, Plus und Minus vergrößern und verkleinern, Enter gibt einen Grund an.',
  zoomIn: 'Vergrößern',
  zoomOut: 'Verkleinern',
  earlier: 'Früher',
  later: 'Später',
  movedMark: 'verschoben',
  movedHint: 'Der Dienst hat den Stopp korrigiert, für den dieser Grund gilt. Bitte prüfen.',
  correctedMark: 'korrigiert',
  reasonsGiven: 'Angegebene Gründe',
  noReasonsGiven: 'Noch kein Grund in dieser Schicht.',
  stopsInShift: 'Stopps ohne Grund',
  loading: 'Lädt …',
  unknownMachine: 'Diese Maschine ist hier nicht bekannt.',
  fromElsewhere: 'aus einem anderen System',
  notes: 'Notizen',
  addNote: 'Notiz schreiben',
  noteText: 'Notiz',
  noteHint: 'Notizen bleiben auf den Terminals. Sie gehen nicht an den Dienst.',
  save: 'Speichern',
  saved: 'Gespeichert',
  noNotes: 'Keine Notizen in dieser Schicht.',
  unexplained: 'Ohne Grund',
  shortStopped: 'Kurze Stopps',
  stopped: 'Gestanden',
  explained: 'Mit Grund',
  print: 'Drucken',
  machine: 'Maschine',
  handOverUnsent: (count) =>
    count === 1
      ? '1 Eintrag dieses Geräts ist noch nicht gesendet und nicht mitgezählt.'
      : `${count} Einträge dieses Geräts sind noch nicht gesendet und nicht mitgezählt.`,
  asOf: (time) => `Stand ${time}`,
  registerOperator: 'Wer arbeitet hier?',
  operatorHint: 'Ausweis scannen oder Namen oder Nummer eingeben. Gilt bis Schichtende.',
  operatorName: 'Name oder Nummer',
  register: 'Anmelden',
  signOff: 'Abmelden',
  nobody: 'Niemand angemeldet',
  registered: (name) => `${name} ist angemeldet.`,
  notRegistered: 'Anmelden hat nicht geklappt. Noch einmal versuchen.',
  registeredByProxy:
    'Wer hier arbeitet, sagt die Anmeldung vor dieser Seite. Dort unter eigenem Namen anmelden.',
  station: 'Station',
  signIn: 'Diese Station anmelden',
  token: 'Token der Station',
  tokenHint: 'Wer das Terminal eingerichtet hat, kennt ihn.',
  tokenWrong: 'Dieser Token ist nicht bekannt.',
  tooManyTokens: (seconds) =>
    `Von hier kamen zu viele falsche Tokens. In ${seconds} s noch einmal versuchen.`,
  signInAtProxy:
    'Der Proxy vor dem Server hat diese Station abgemeldet. Einträge bleiben hier erhalten und werden gesendet, sobald sie wieder angemeldet ist.',
  signInFailed: 'Der Server antwortet nicht. Noch einmal versuchen.',
  signOut: 'Station abmelden',
  settings: 'Einstellungen',
  language: 'Sprache',
  about: 'Was diese Seite kann und was nicht',
  aboutLines: [
    'Von Gründen ist hier zu sehen, was über dieses System gesendet wurde.',
    'Ein Grund für einen Stopp, der andauert, gilt, bis die Maschine wieder läuft, längstens bis Schichtende oder bis der nächste Grund mit Ende gesendet wird.',
    'Wo keine Daten kamen, wird nichts angenommen: Schraffiert heißt unbekannt, nicht aus.',
  ],
  live: 'Live',
  connecting: 'Verbindet',
  restoring: 'Der Server startet',
  kafkaDown: (time) => `Kafka ist weg seit ${time}`,
  nothingNew: (time) => `Zustände nur bis ${time}`,
  offline: (time) => `Keine Verbindung seit ${time}`,
  notSent: (count, time) => `${count} nicht gesendet seit ${time}`,
  entriesKept: 'Einträge bleiben hier erhalten.',
  unreachable: (time) =>
    `Der Server ist nicht erreichbar${time === null ? '' : `. Zuletzt gehört um ${time}`}. Bis er wieder da ist, ist nur zu sehen, was hier eingegeben wurde; es bleibt erhalten und wird später gesendet.`,
  notKept: 'Einträge bleiben nicht erhalten: Seite nicht schließen.',
  dismiss: 'Ausblenden',
};

export const STRINGS: Record<Language, Strings> = { en, de };

/** The meaning of a refusal code and what to do; its `detail` is shown in a tooltip. */
export function refusalText(strings: Strings, code: string | null): string {
  return strings.refusals[code ?? ''] ?? strings.refusedOtherwise;
}

export function languageOf(wanted: string | null, preferred: readonly string[]): Language {
  const asked = [wanted, ...preferred].map((tag) => tag?.slice(0, 2).toLowerCase());
  return (
    LANGUAGES.find(
      (language) => asked.find((tag) => LANGUAGES.some((known) => known === tag)) === language,
    ) ?? 'en'
  );
}
