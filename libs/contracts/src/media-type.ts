/** The bare type of a content type, lower case, without parameters such as a charset; null when absent. */
export function mediaType(contentType: string | null): string | null {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? null;
}

export function isJsonType(type: string | null): boolean {
  return type === 'application/json' || type === 'text/json' || type?.endsWith('+json') === true;
}
