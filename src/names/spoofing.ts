/** Deceptive labels by UTS 39 and RFC 5892, in names that are already mapped by UTS 46. */

type Spoof = 'lookalike_character' | 'invisible_character' | 'mixed_scripts'

/** Returns why a host name with U-labels is deceptive; null if it is not. */
export function findSpoof(nameUnicode: string): Spoof | null {
  for (const label of nameUnicode.split('.')) {
    if (/^[\0-\x7f]*$/.test(label)) continue
    if (label.search(lookalikes) !== -1) return 'lookalike_character'
    if (label.search(blanks) !== -1) return 'invisible_character'
    if (!isInOneScript(label)) return 'mixed_scripts'
  }
  return null
}

/** Characters that look like a gap. Search for them before the mapping by UTS 46, which drops some of them. */
export const blanks = /[\u115f\u1160\u180e\u2800\u3164\uffa0\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu

/** Symbols that resemble an ASCII character, from `confusables.txt` of UTS 39 and from browsers. */
const symbols = Object.values({
  '/': '\u0337\u0338\u1735\u2041\u2044\u2215\u0335\u0336\u20d2\u20d8\u2571\u27c9\u27cb\u29f6\u29f8\u2afb\u2afd\u2e4a\u3033\u31d3\u{1d23a}',
  '\\': '\u20e5\u2216\u244a\u2572\u27c8\u27cd\u29f5\u29f7\u29f9\u2cf9\u3035\u31d4\u{1d20f}\u{1d23b}',
  '.': '\u06d4\u0701\u0702\u2022\u2027\u2219\u22c5\u119e\u2e31\u2e33\ua4fe\ua60e\ua78f\u16eb\u{10101}\u{10a50}\u{1d16d}',
  ':': '\u02d0\u02d1\u02f8\u0589\u05c3\u0703\u0704\u1361\u16ec\u1803\u1809\u205a\u205e\u2056\u2e2a\u2e2c\u2e1e\u2e1f\u22ee\u2981\u2236\u2237\u29f4\ua789',
  '#': '\u22d5\u2317\u266f\u2a68\u2a69',
  '?': '\u0294\u02c0\u061f\u2e2e',
  '!': '\u01c3',
  '|': '\u01c0',
  '-': '\u02d7\u2010\u2012\u2013\u2014\u2043\u2212\u2796',
  '%': '\u0609\u060a\u066a\u2030\u2031\u2052',
}).join('')

/** Letters, digits and marks of other scripts that look like `/ \ . : ?` next to Latin letters. */
const foreignLetters =
  '\u30bd\u30be\u30ce\u30f3\u4e36\u4e3f\u4e40\u4e41\u0660\u06f0\ua4f8\ua4fa\ua4fb\u0903\u0a83\ua4fd\u097d\u13ae\ua6eb'

const latin = '\\p{Script=Latin}\\d'
const japanese = '\\p{scx=Hani}\\p{scx=Hira}\\p{scx=Kana}'

const lookalikes = new RegExp(
  [
    `[${symbols}]`,
    `(?<=[${latin}])[${foreignLetters}](?![^${latin}-])`,
    `(?<![^${latin}-])[${foreignLetters}](?=[${latin}])`,
    // The middle dots of Catalan and Japanese: RFC 5892, A.3 and A.7.
    '(?<!l)\u00b7|\u00b7(?!l)',
    `(?<![${japanese}])\u30fb|\u30fb(?![${japanese}])`,
  ].join('|'),
  'u',
)

/** Scripts that a label may mix, most frequent first (UTS 39 §5.2, UAX 31 table 5). All others count as one more. */
const writingSystems = [
  ...['Latn Hani Hira Kana', 'Cyrl', 'Latn Hani Hang', 'Latn Hani Bopo', 'Arab', 'Grek', 'Hebr', 'Thai', 'Deva'],
  ...['Armn', 'Beng', 'Ethi', 'Geor', 'Gujr', 'Guru', 'Khmr', 'Knda', 'Laoo', 'Mlym', 'Mymr', 'Orya', 'Sinh', 'Taml'],
  ...['Telu', 'Thaa', 'Tibt'],
].map(matchLetters)

function matchLetters(scripts: string): RegExp {
  return new RegExp(`[${scripts.replace(/(\w+) ?/g, '\\p{scx=$1}')}]+`, 'gu')
}

const common = matchLetters('Zyyy Zinh')

function isInOneScript(label: string): boolean {
  const letters = label.replace(common, '')
  let isOfOtherScripts = true
  for (const system of writingSystems) {
    const rest = letters.replace(system, '')
    if (rest === '') return true
    if (rest !== letters) isOfOtherScripts = false
  }
  return isOfOtherScripts
}
