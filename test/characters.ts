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
