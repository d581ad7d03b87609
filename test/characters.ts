import fc from 'fast-check'

const surrogates = { from: 0xd800, count: 0x800 }

/**
 * Any character, for `fc.string`. Its own unit `binary` first indexes all million characters, which takes a second in
 * each process.
 */
export const anyCharacter = fc.nat({ max: 0x10ffff - surrogates.count }).map(
  (index) => String.fromCodePoint(index < surrogates.from ? index : index + surrogates.count),
  (character) => {
    const point = typeof character === 'string' ? character.codePointAt(0) : undefined
    if (point === undefined || String.fromCodePoint(point) !== character) throw new Error('not one character')
    return point < surrogates.from ? point : point - surrogates.count
  },
)

const ofPaths = [..."abcxyzABC0189-._~!$&'()*+,;=:@"]
const character = anyCharacter.map(encodeURIComponent)
const path = fc.string({ unit: fc.oneof(fc.constantFrom(...ofPaths, '/'), character) })
/** Any query or fragment. */
const query = fc.string({ unit: fc.oneof(fc.constantFrom(...ofPaths, '/', '?'), character) })

/** Any URL without credentials, after RFC 3986. `fc.webUrl` indexes all characters, too. */
export const anyWebUrl = fc
  .record({
    scheme: fc.constantFrom('http', 'https'),
    authority: fc.webAuthority({ withPort: true, withIPv4: true, withIPv6: true }),
    rest: fc.tuple(
      path.map((text) => `/${text}`),
      fc.option(
        query.map((text) => `?${text}`),
        { nil: '' },
      ),
      fc.option(
        query.map((text) => `#${text}`),
        { nil: '' },
      ),
    ),
  })
  .map(({ scheme, authority, rest }) => `${scheme}://${authority}${rest.join('')}`)
