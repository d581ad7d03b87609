/** What confirmations of deletions ask for: a typed text, and whether nothing shall be kept. */
import { validationFailed } from '../../errors.ts'
import type { Fields } from '../../http/form-encoding.ts'
import type { Html } from '../../http/html.ts'
import { foldCase, trimText } from '../../lib/text.ts'
import { Refusal } from '../../violations.ts'
import { checkbox, type FormState, textField } from './fields.ts'

/** From this number of links on, people type a name or a number before they delete. */
export const manyLinks = 100

const typedName = 'name'

/** Renders the field for the text that people type to confirm. */
export function typedField(state: FormState, text: string): Html {
  return textField(state, { name: typedName, label: `Type ${text} to confirm`, isCode: true, isRequired: true })
}

/**
 * Throws `validation_failed` unless the form has the text. `isMeant` returns whether people mean it. By default, case and white
 * space don't matter.
 */
export function requireTyped(
  fields: Fields,
  text: string,
  isMeant: (typed: string) => boolean = (typed) => plain(typed) === plain(text),
): void {
  const sent = fields[typedName]
  if (isMeant(typeof sent === 'string' ? trimText(sent) : '')) return
  throw validationFailed([new Refusal('not_allowed.confirmation', { name: text }).at(typedName)])
}

function plain(text: string): string {
  return foldCase(text.replace(/\s+/g, ' '))
}

/** Renders the box for deleting without a way back. Only records with clicks lose them. */
export function permanentBox(state: FormState, hasClicks = true): Html {
  const clicks = hasClicks ? ', its clicks are deleted immediately' : ''
  const help = `It can’t be restored${clicks}, and its values are removed from the history.`
  return checkbox(state, { name: 'permanently', label: 'Delete permanently', help })
}

/** Returns the query of a deletion whose form has the box. */
export function readDeletionQuery({ permanently }: Fields): Fields {
  return permanently === undefined ? {} : { permanently }
}
