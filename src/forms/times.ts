/** Times in requests. */
import { Refusal } from '../violations.ts'

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/
const minuteInUtc = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d)$/

/** Parses a time (RFC 3339 §5.6, or `YYYY-MM-DD HH:MM` in UTC). Returns RFC 3339 in UTC with milliseconds. */
export function parseTime(text: string): string | Refusal {
  const [, year, month, day, hour, minute, second = '00', fraction = '', zone = 'Z'] =
    rfc3339.exec(text) ?? minuteInUtc.exec(text) ?? []
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const time = new Date(`${local}.${fraction.slice(0, 3).padEnd(3, '0')}${zone.toUpperCase()}`)
  // `Date` turns February 30 into March 1 or 2.
  const isReal = !Number.isNaN(time.getTime()) && new Date(`${local}Z`).toJSON()?.startsWith(local)
  const inUtc = isReal ? time.toJSON() : ''
  return /^\d{4}-/.test(inUtc) ? inUtc : new Refusal('invalid_time')
}
