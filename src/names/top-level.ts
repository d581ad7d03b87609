/** Registered names, and typos of top-level domains. */
import { distance } from 'fastest-levenshtein'
import { parse as splitAtSuffix } from 'tldts'
import { suffixOptions, withoutRootDot } from './host-name.ts'

/** Returns whether a name is registered, such as `acme.com`, or a single label: it can't have a CNAME (RFC 1034). */
export function isApex(name: string): boolean {
  const { domain } = splitAtSuffix(name, suffixOptions)
  return domain === null || domain === name
}

/** The top-level domains with most names, and those that many sites use. */
const commonTopLevels = [
  ...'com net org edu gov info biz app dev online shop site store xyz'.split(' '),
  ...'ai at au be br ca ch cn co de dk es eu fr io it jp me nl no pl se tv uk us'.split(' '),
]

/**
 * Returns the last label of a URL's host if it is a likely typo of a common top-level domain, such as `con`; otherwise
 * null. Private networks have top-level domains of their own, such as `wiki.acme`.
 */
export function mistypedTopLevel(hostname: string): string | null {
  const name = withoutRootDot(hostname)
  const last = name.slice(name.lastIndexOf('.') + 1)
  if (last === name || commonTopLevels.includes(last) || !commonTopLevels.some((common) => isTypo(common, last)))
    return null
  const { isIcann, isPrivate, isSpecialUse } = splitAtSuffix(name, { ...suffixOptions, detectSpecialUse: true })
  return isIcann || isPrivate || isSpecialUse ? null : last
}

/** Returns whether one letter is missing, added or wrong, or two are swapped. Two letters have too little in common. */
function isTypo(word: string, text: string): boolean {
  if (text.length + word.length === 4) return false
  const edits = distance(word, text)
  return edits === 1 || (edits === 2 && sortLetters(word) === sortLetters(text))
}

function sortLetters(text: string): string {
  return [...text].sort().join('')
}
