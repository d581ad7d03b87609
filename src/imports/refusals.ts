/** Reasons for which rows are refused or skipped. People read the same sentences in the API, on pages and in the output of commands. */
import { linkLabels } from '../links/schema.ts'
import type { Violation } from '../violations.ts'

/** A stable code, and a sentence for people. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/** Returns why a row is refused whose field is invalid. The sentence has the label of the field. */
export function explainViolation({ code, field, refusal }: Violation): Reason {
  const [name = ''] = field.split('.', 1)
  return { code, message: refusal.forForm((linkLabels as Readonly<Record<string, string>>)[name] ?? null) }
}

/** Hosts of services, whose links can only be copied. */
export const vendors: readonly string[] = [
  ...['bit.ly', 'j.mp', 'amzn.to', 'dub.sh', 'rebrand.ly', 'kutt.it', 'kutt.to', 'tinyurl.com'],
]

/** Returns why a row with this host is refused. */
export function unmapped(host: string): Reason {
  const message = vendors.includes(host)
    ? `Links on ${host} can’t move, because the host belongs to the service. Map ${host} to a domain of yours to copy them.`
    : host === ''
      ? 'The row has no host. Map * to its domain.'
      : `The account has no domain ${host}. Add the domain, or map ${host} to another.`
  return { code: 'unmapped_host', message }
}

/** Returns the reason for a skipped row whose host the domain map skips. */
export function omitted(host: string): Reason & { readonly outcome: 'skip' } {
  const what = host === '' ? 'Rows without a host' : `Addresses on ${host}`
  return { outcome: 'skip', code: 'unmapped_host', message: `${what} are left out.` }
}

export const refusals = {
  numbers: { code: 'alias_taken', message: 'The address is taken, and so are those with a number.' },
  root: { code: 'root_link', message: 'The address has no path. Set the homepage of the domain instead.' },
  alias: {
    code: 'unsupported_alias',
    message:
      'No link can have this alias: it is longer than 255 characters, reserved, ends in "+", or has control characters or a segment "." or "..".',
  },
  uncompared: {
    code: 'duplicate_address',
    message: 'More than 100 rows have the address, in different letter case. Import this row in another file.',
  },
  duplicate: {
    code: 'duplicate_address',
    message: 'An earlier row has the address, with another URL. Delete one of the rows.',
  },
} as const
