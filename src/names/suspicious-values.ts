/** Warnings about valid values that are probably not meant. */
import { Warning } from '../warnings.ts'
import { mistypedTopLevel } from './top-level.ts'
import { isWebUrl } from './web-url.ts'

const ampersandEntity = /&(?:amp|#0*38|#x0*26);/i

/** Returns the warnings about a URL. */
export function urlWarnings(field: string, url: string): Warning[] {
  const found: Warning[] = []
  const [entity] = ampersandEntity.exec(url) ?? []
  if (entity !== undefined) found.push(new Warning('html_entity', field, { entity }))
  const host = isWebUrl(url) ? (URL.parse(url)?.hostname ?? '') : ''
  const last = mistypedTopLevel(host)
  if (last !== null) found.push(new Warning('unknown_top_level', field, { host, last }))
  return found
}

/** A signature that covers all parameters of the query, and a parameter that goes with it. */
const signatures: readonly (readonly [signature: RegExp, other: RegExp])[] = [
  // AWS (Signature Version 4), Google Cloud, and services that copy them.
  [/^x-[a-z]+-signature$/i, /^x-[a-z]+-(?:date|credential)$/i],
  // Amazon CloudFront.
  [/^signature$/i, /^key-pair-id$/i],
  // Azure: a shared access signature.
  [/^sig$/i, /^sv$/i],
  // Laravel's temporary URLs.
  [/^signature$/i, /^expires$/i],
]

/** Returns the name of the parameter with a signature that more parameters break; null if the URL has none. */
export function findSignature(url: string): string | null {
  const names = [...(URL.parse(url)?.searchParams.keys() ?? [])]
  for (const [signature, other] of signatures) {
    const name = names.find((each) => signature.test(each))
    if (name !== undefined && names.some((each) => other.test(each))) return name
  }
  return null
}

/** A text in quotation marks. A closing one after a letter such as Ä could pass for the rest of a UTF-8 sequence. */
const quotation = /[“„‘‚]([^“”„‘’‚]*)[“”‘’]/g

/** Returns the warning about the first word of a text that was decoded with the wrong encoding. */
export function textWarnings(field: string, text: string): Warning[] {
  // A no-break space may be part of a sequence, such as that of à. After other letters, it is typography: "café »".
  for (const word of text.replace(quotation, ' $1 ').split(/[ \t\r\n]+|(?<![ÂÃ])\u00a0/)) {
    const meant = correctEncoding(word)
    if (meant !== null) return [new Warning('wrong_encoding', field, { text: word, meant })]
  }
  return []
}

/** Returns what a text means if it is UTF-8 that was decoded as Windows-1252, even several times; otherwise null. */
function correctEncoding(text: string): string | null {
  let meant: string | null = null
  for (let before = text; ; before = meant) {
    const bytes = encodeWindows1252(before)
    const decoded = bytes && decodeUtf8(bytes)
    if (decoded === null || decoded === before) return meant
    meant = decoded
  }
}

const bytesOf = new Map(
  [...new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 128 }, (_, at) => at + 128))].map(
    (character, at) => [character, at + 128],
  ),
)

/** Returns the bytes of a text in Windows-1252; null if it has other characters, or no UTF-8 sequence. */
function encodeWindows1252(text: string): Uint8Array | null {
  // The first two bytes of a UTF-8 sequence, without those of rare scripts, which "Spaß«" and "CAFÉ»" have, too.
  if (!/[\u00c2-\u00c5\u00ce-\u00d1\u00d7-\u00d9\u00e0-\u00f4][\u0080-\u00bf\u0152-\u2122]/.test(text)) return null
  const bytes: number[] = []
  for (const character of text) {
    const byte = character <= '\u007f' ? character.charCodeAt(0) : bytesOf.get(character)
    if (byte === undefined) return null
    bytes.push(byte)
  }
  return Uint8Array.from(bytes)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes)
  } catch {
    return null
  }
}
