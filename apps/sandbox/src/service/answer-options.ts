/** Where the interface leaves room, how the service is to answer; changed through the control API. */
export class AnswerOptions {
  /** Lets durationInMinutes be off by one minute either way from answer to answer. */
  durationJitter = false;
  /** Cuts the first and last entry of an activity log at the edges of the window asked for. */
  clipActivityLog = true;
}
