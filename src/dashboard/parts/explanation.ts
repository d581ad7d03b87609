/** Explanations of visits in words. */
import type { Explanation } from '../../rules/explanation.ts'

/** Returns the words before and after the location that a visitor gets; all of them are before if there is none. */
export function outcomeOf({ kind, status, location }: Explanation): readonly [before: string, after: string] {
  const shown = kind === 'redirect' ? undefined : pages[kind]
  if (location === null) return [`${shown?.says} (${status}).`, '']
  return ['Redirects to ', ` (${status})${shown === undefined ? '' : `, because ${shown.reason}`}.`]
}

const itself = 'the link is disabled or not active yet, or redirects to itself'
const pages = {
  password: { says: 'Asks for the password', reason: '' },
  preview: { says: 'Shows the preview of the link', reason: '' },
  expired: { says: 'Says that the link has expired', reason: 'the link has expired' },
  not_found: {
    says: `Says that there is no such link, because ${itself}`,
    reason: 'the link is disabled or not active yet',
  },
}

/** Names what decided the destination; null if the response has none, or the link has no rules. */
export function decisionOf({ kind, class: type, rule, variant, checks }: Explanation): string | null {
  if (kind !== 'redirect' || checks.length === 0) return null
  if (rule === null) {
    return type === 'person'
      ? 'No rule matches: visitors get the URL of the link.'
      : 'Bots and previews get the URL of the link.'
  }
  const position = checks.findIndex((check) => check.rule === rule) + 1
  return `Decided by rule ${position}, ${rule}${variant === null ? '' : `, which drew its destination ${variant}`}.`
}
