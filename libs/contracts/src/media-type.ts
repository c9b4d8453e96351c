/** The bare type of a content type, lower case, without parameters such as a charset; null when absent. */
export function mediaType(contentType: string | null): string | null {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? null;
}

/** The charset that a content type declares, lower case; undefined without one. */
export function charsetOf(contentType: string | null): string | undefined {
  return /;\s*charset\s*=\s*"?([\w.-]+)/i.exec(contentType ?? '')?.[1]?.toLowerCase();
}

export function isJsonType(type: string | null): boolean {
  return type === 'application/json' || type === 'text/json' || type?.endsWith('+json') === true;
}
