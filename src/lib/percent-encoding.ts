/** Decodes percent-encoded UTF-8. Returns null if it is invalid. */
export function decodePercent(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return null
  }
}
