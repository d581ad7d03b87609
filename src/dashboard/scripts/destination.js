/** URLs as people type them, and the campaign (UTM) parameters in their query. The server and browsers share these functions. */

/** In the order in which they are added. */
export const campaignParameters = /** @type {const} */ ([
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_term',
  'utm_content',
])

/** @typedef {Record<(typeof campaignParameters)[number], string>} Campaign */

/** Returns the first value of each parameter; '' for a missing one. The text need not be a valid URL. @type {(url: string) => Campaign} */
export function readCampaign(url) {
  const { pieces } = split(url)
  const names = pieces.map(nameOf)
  const values = campaignParameters.map((name) => {
    const piece = pieces[names.indexOf(name)] ?? ''
    return [name, piece.includes('=') ? clean(decoded(piece.slice(piece.indexOf('=') + 1))) : '']
  })
  return Object.fromEntries(values)
}

/**
 * Returns the URL with these values of parameters. An empty value removes the parameter. Everything else stays the same,
 * byte for byte, as do parameters that have the value already. @type {(url: string, values: Partial<Campaign>) => string}
 */
export function writeCampaign(url, values) {
  const present = readCampaign(url)
  let { pieces, ...rest } = split(url)
  for (const name of campaignParameters) {
    const value = clean(values[name] ?? present[name])
    if (value !== present[name]) pieces = withParameter(pieces, name, value)
  }
  return rest.start + (pieces.length === 0 ? '' : `?${pieces.join('&')}`) + rest.fragment
}

/** @type {(pieces: string[], name: string, value: string) => string[]} */
function withParameter(pieces, name, value) {
  const others = pieces.filter((piece) => nameOf(piece) !== name)
  if (value === '') return others
  const piece = `${name}=${encodeURIComponent(value.toWellFormed())}`
  const at = pieces.findIndex((each) => nameOf(each) === name)
  if (at !== -1) return others.toSpliced(at, 0, piece)
  // After "?" alone, or "&" at the end.
  return others.at(-1) === '' ? others.with(-1, piece) : [...others, piece]
}

/** Decodes ASCII only: `decodeURIComponent` takes long to reject a malformed name. @type {(piece: string) => string} */
function nameOf(piece) {
  const [name = ''] = piece.split('=', 1)
  return name.replace(/%([2-7][0-9a-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** @type {(url: string) => { start: string, pieces: string[], fragment: string }} */
function split(url) {
  const [, start = '', query, fragment = ''] = /^([^?#]*)(?:\?([^#]*))?(.*)$/s.exec(url) ?? []
  return { start, pieces: query === undefined ? [] : query.split('&'), fragment }
}

/** @type {(text: string) => string} */
function decoded(text) {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

/** Removes what a text field can't show. @type {(value: string) => string} */
function clean(value) {
  return value.replace(/\p{Cc}/gu, '').trim()
}

/** A host name with a dot, an optional port, then a path or the end: `acme.com/summer`. */
const bareHost = /^[^\s/?#:@\\]+\.[^\s/?#:@\\]+(?::\d+)?(?:[/?#]|$)/

/** @type {(text: string) => string} */
export function withHttps(text) {
  const trimmed = text.trim()
  return bareHost.test(trimmed) ? `https://${trimmed}` : text
}
