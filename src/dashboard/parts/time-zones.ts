/** Time zones in forms: the control for a zone, and times of date controls. */
import { calendarOf } from '../../accounts/calendar.ts'
import type { Rule } from '../../forms/form.ts'
import { Type } from '../../forms/json-schema.ts'
import { type Fields, readText } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { parseTimeZone, timeZoneNames } from '../../lib/time-zone.ts'
import { Refusal } from '../../violations.ts'
import type { PageRequest } from '../page.ts'
import { hiddenFields } from './buttons.ts'
import { type Field, type FormState, selectField, textField } from './fields.ts'

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

/** Returns the time zone of the account, which times of files without a zone have by default. */
export function accountZone({ session }: Pick<PageRequest, 'session'>): string {
  return calendarOf(session.account.time_zones).timeZone
}

const zoneField = 'zone'

/**
 * Returns the time zone of times on a page: the submitted form's, otherwise the person's, otherwise the account's. A form
 * names its zone, so that a zone that changes meanwhile does not move its times.
 */
export function formZone({ session, fields }: Pick<PageRequest, 'session' | 'fields'>): string {
  const { member } = session
  const sent = parseTimeZone(readText(fields[zoneField]))
  return sent ?? member?.person.timeZone ?? accountZone({ session })
}

/** Renders the zone of a form's times for `formZone`. */
export function zoneFields(zone: string): Html {
  return hiddenFields({ [zoneField]: zone })
}

/** Renders a control for a time in a zone, which its label names. */
export function timeField(state: FormState, field: Omit<Field, 'unit'>, zone: string): Html {
  const exact = state.field(exactName(field.name)).value
  const control = textField(state, { ...field, type: 'datetime-local', unit: html`(${zone})` })
  return html`${control}${exact === '' ? null : hiddenFields({ [exactName(field.name)]: exact })}`
}

function exactName(name: string): string {
  return `exact_${name}`
}

/** Returns the form values of an RFC 3339 time. A local time that occurs twice or can't be typed keeps the exact one. */
export function timeValues(name: string, at: string | null, zone: string): Fields {
  if (at === null) return { [name]: '' }
  const local = localTime(at, zone)
  const isExact = Date.parse(utcTime(local, zone)) === Date.parse(at)
  return { [name]: local, ...(!isExact && { [exactName(name)]: at }) }
}

/** Returns the fields with the times of these controls in UTC, and without the controls' hidden fields. */
export function withUtcTimes(form: Fields, names: readonly string[], zone: string): Fields {
  const { [zoneField]: _, ...fields } = { ...form }
  for (const name of names) {
    const exact = fields[exactName(name)]
    delete fields[exactName(name)]
    const typed = fields[name]
    if (typeof typed !== 'string') continue
    fields[name] = isShownAs(typed, exact, zone) ? exact : utcTime(typed, zone)
  }
  return fields
}

/** Returns whether a form would show the exact time, which may be invalid, as this local one. */
function isShownAs(local: string, exact: unknown, zone: string): boolean {
  try {
    return typeof exact === 'string' && localTime(exact, zone) === local
  } catch {
    return false
  }
}

/** Formats a time for a date control, without zero seconds, so that unedited times stay the same. */
function localTime(at: string, zone: string): string {
  const local = Temporal.Instant.from(at).toZonedDateTimeISO(zone).toPlainDateTime().toString()
  return local.replace(/^(\+0*)?(.*?)(?:(?<=T\d\d:\d\d):00)?$/, '$2')
}

/** Returns the time of a date control in RFC 3339; any other text unchanged. Skipped local times move to the next hour. */
function utcTime(text: string, zone: string): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/.test(text)) return text
  try {
    return Temporal.PlainDateTime.from(text).toZonedDateTime(zone).toInstant().toString()
  } catch {
    return text
  }
}
