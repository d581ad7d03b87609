/** Time zones in forms: the control for a zone, and times of date controls. */
import type { Rule } from '../../forms/form.ts'
import { Type } from '../../forms/json-schema.ts'
import type { Html } from '../../http/html.ts'
import { parseTimeZone, timeZoneNames } from '../../lib/time-zone.ts'
import { Refusal } from '../../violations.ts'
import { type Field, type FormState, selectField } from './fields.ts'

/** A rule for the name of a time zone. */
export const timeZoneRule: Rule<string> = {
  schema: Type.String(),
  parse: (text) =>
    parseTimeZone(text) ??
    new Refusal('not_allowed', { options: 'the IANA name of a time zone, such as Europe/Berlin' }),
}

/** Renders the control `time_zone`. It offers the stored zone even if it has an old name. */
export function timeZoneField(state: FormState, field: Omit<Field, 'name'> & { readonly stored: string }): Html {
  const options = [...new Set([...timeZoneNames, field.stored])].map((value) => ({ value, label: value }))
  return selectField(state, { ...field, name: 'time_zone', options })
}
