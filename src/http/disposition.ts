/**
 * The `Content-Disposition` of a file with this name, which may have any signs (RFC 6266 §4.3, RFC 8187 §3.2). Slashes and what
 * does not show become hyphens.
 */
export function dispositionOf(kind: 'inline' | 'attachment', name: string): string {
  const safe = name.replace(/[/\\\p{C}\p{Z}]+/gu, '-')
  if (/^[\w.~-]+$/.test(safe)) return `${kind}; filename="${safe}"`
  const plain = safe.replace(/[^\w.~-]+/g, '-')
  const encoded = encodeURIComponent(safe).replace(/['()*!]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
