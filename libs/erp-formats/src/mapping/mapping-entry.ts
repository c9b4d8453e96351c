/** An expression and the documents it is for; what a criterion leaves out does not matter. */
export interface MappingEntry {
  /** As a rejection names it. */
  name: string;
  /** Lower case, without parameters. */
  contentType?: string;
  /** The source topic; a `*` stands for any text. */
  topic?: string;
  expression: string;
}
