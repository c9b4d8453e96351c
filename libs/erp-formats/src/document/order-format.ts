import type { OrderMessage, Parsed } from '#libs/contracts';

import type { DocumentElement } from '../xml/document-element.js';

export interface OrderDocument {
  contentType: string | null;
  body: Buffer;
  /** The topic to which the sender published the document, if known; see `sourceTopicOf`. */
  sourceTopic?: string | null;
  /** Epoch seconds at which the message was written: the time of orders without one of their own. */
  recordedAt?: number;
}

export interface OrderDocumentOptions {
  /** IANA zone of local times. */
  timeZone: string;
}

/** A parsed document: JSON, or the root element of XML. */
export type DocumentContent =
  { json: unknown; root?: undefined } | { json?: undefined; root: DocumentElement };

/** Facts about a document beside its content. */
export interface ReadingContext extends OrderDocumentOptions {
  sourceTopic: string | null;
  recordedAt: number | undefined;
}

/** An adapter for one format, without I/O. */
export interface OrderFormat {
  /** Name in rejections. */
  name: string;
  /** Content types of this format only. */
  mediaTypes?: readonly string[];
  /** By root element or shape. The first format that recognises a document reads it. */
  recognises(content: DocumentContent): boolean;
  /** The field whose absence prevents recognition, for JSON with other fields that only this format has. */
  missingField?(json: unknown): string | undefined;
  /** All orders in the document, or the first fault with its path: one bad order refuses the document. */
  readMessages(content: DocumentContent, context: ReadingContext): Parsed<OrderMessage[]>;
}
