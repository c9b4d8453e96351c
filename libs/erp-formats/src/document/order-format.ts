import type { OrderMessage, Parsed } from '#libs/contracts';

import type { DocumentElement } from '../xml/document-element.js';

export interface OrderDocument {
  contentType: string | null;
  body: Buffer;
  /** The topic its sender published it under, where that says more than ours; see `sourceTopicOf`. */
  sourceTopic?: string | null;
  /** Epoch seconds at which the message was written: dates what carries no time of its own. */
  recordedAt?: number;
}

export interface OrderDocumentOptions {
  /** IANA zone of local times in documents that state none. */
  timeZone: string;
}

/** A document out of its bytes, whatever format it turns out to be in: JSON, or the root element of XML. */
export type DocumentContent =
  { json: unknown; root?: undefined } | { json?: undefined; root: DocumentElement };

/** What an adapter may know beside the content. */
export interface ReadingContext extends OrderDocumentOptions {
  sourceTopic: string | null;
  recordedAt: number | undefined;
}

/** An adapter: everything the bridge knows of one foreign format. It neither reads nor sends. */
export interface OrderFormat {
  /** As a rejection lists it. */
  name: string;
  /** Content types that say it is this format and no other. */
  mediaTypes?: readonly string[];
  /** By root element or shape; the first format in the registry that does reads the document. */
  recognises(content: DocumentContent): boolean;
  /** The field that JSON lacks to be recognised, where no format recognises it and it can be of no other. */
  lacks?(json: unknown): string | undefined;
  /** All orders in the document, or the first fault with its place: one bad order refuses it whole. */
  read(content: DocumentContent, context: ReadingContext): Parsed<OrderMessage[]>;
}
