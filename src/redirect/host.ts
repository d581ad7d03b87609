import { Refusal } from '../errors.ts'
import { parseHostName } from '../names/host-name.ts'

/** RFC 3986 §3.2.2, for what is not an IPv6 address. */
const hostAndPort = /^([^:/?#@[\]\\%\s]{1,512})(?::(\d*))?$/
const asciiName = /^[a-z\d._-]+$/i

/**
 * The name that a Host header means, as domains are stored: with A-labels, in lower case, without a port or trailing dot.
 * Null if it is not a host name; one in lower case is not checked further, since only stored names are found.
 */
export function nameIn(host: string): string | null {
  const sent = hostAndPort.exec(host)?.[1]
  if (sent === undefined) return null
  if (asciiName.test(sent)) return (sent.endsWith('.') ? sent.slice(0, -1) : sent).toLowerCase()
  // Node gives the bytes of a header as Latin-1.
  const parsed = parseHostName(Buffer.from(sent, 'latin1').toString('utf8'))
  return parsed instanceof Refusal ? null : parsed.name
}

/** The port that a Host header names, as the URL Standard writes it; empty if it names none. */
export function portIn(host: string): string {
  const digits = hostAndPort.exec(host)?.[2] ?? ''
  return digits === '' ? '' : String(Number(digits))
}
