/** Facts about saved values that the user may not want. A warning never changes what is stored. */
import { fill, type ParamsIn } from './violations.ts'

/** The messages by code: a sentence for the API and commands, and one for pages. A single sentence is for both. */
export const warningMessages = {
  unknown_top_level: [
    'Check the destination: {host} ends in ".{last}", which isn\'t a known top-level domain.',
    'Check the destination: {host} ends in “.{last}”, which isn’t a known top-level domain.',
  ],
  own_short_link: 'Check the destination: {shortUrl} is one of your own short links.',
  html_entity: 'The URL looks copied from HTML. Write & instead of {entity}.',
  wrong_encoding: [
    '"{text}" looks like UTF-8 that was read as Windows-1252. It probably means "{meant}".',
    '“{text}” looks like UTF-8 that was read as Windows-1252. It probably means “{meant}”.',
  ],
  signed_url: [
    'The signature {parameter} of the URL is invalid with more parameters. Set forward_query to false, or use a URL without a signature.',
    'The signature {parameter} of the URL is invalid with more parameters. Don’t forward the query string, or use a URL without a signature.',
  ],
  app_opens_links: 'Phones with {app} open {links} in the app, so no click is counted.',
  role_from_group: [
    'OIDC_ROLES sets the role of this member from a group. The next sign-in sets it again.',
    'The role comes from a group at the sign-in service. The next sign-in sets it again.',
  ],
  spreadsheet:
    'A spreadsheet has probably changed the alias {alias}. The link with the alias {other} has the same destination. Check the alias in the file.',
} as const satisfies Readonly<Record<string, string | readonly [forApi: string, forPages: string]>>

export type WarningCode = keyof typeof warningMessages
export const warningCodes = Object.keys(warningMessages) as WarningCode[]

/** A warning as the API shows it. */
export interface ShownWarning {
  readonly code: WarningCode
  readonly field: string
  readonly message: string
}

/** A warning about a field by its name in the API, such as `url` or `rules.0.url`. In JSON, it is a `ShownWarning`. */
export class Warning<Code extends WarningCode = WarningCode> implements ShownWarning {
  readonly code: WarningCode
  readonly field: string
  readonly params: Readonly<Record<string, string>>

  constructor(code: Code, field: string, params: Readonly<Record<ParamsIn<(typeof warningMessages)[Code]>, string>>) {
    this.code = code
    this.field = field
    this.params = params
  }

  /** The sentence for the API and commands. */
  get message(): string {
    const [text = ''] = [warningMessages[this.code]].flat()
    return fill(text, this.params)
  }

  toJSON(): ShownWarning {
    return { code: this.code, field: this.field, message: this.message }
  }
}

/** Returns those warnings that concern a request's fields. */
export function warningsAbout(warnings: readonly Warning[], fields: Readonly<Record<string, unknown>>): Warning[] {
  const isSet = (name: string) => fields[name] !== undefined
  return warnings.filter(
    ({ code, field }) => isSet(field.split('.', 1)[0] ?? '') || (code === 'signed_url' && isSet('forward_query')),
  )
}
