/** Rules for the files by which phones find the apps that open a domain's links. */

import type { Rule } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { readJsonText } from '../forms/json-text.ts'
import { Refusal } from '../violations.ts'

/** Both files of a domain, escaped, fit into the body of a request. KiB of UTF-8. */
const maxSize = 24

/** Returns null if a value has the structure of a file, the index of the first item that has another, or `whole`. */
type Check = (value: unknown) => number | null
const whole = -1

/** The rule of the file that Apple defines: an object with a member for each of its services. */
export const appleAppSiteAssociation = fileRule(
  'The file `apple-app-site-association` of the domain: the text of a JSON object with `applinks`, `webcredentials` or `appclips`.',
  'an object with applinks, webcredentials or appclips, each an object and sent only once,',
  (value) => {
    if (!isObject(value)) return whole
    const services = ['applinks', 'webcredentials', 'appclips'].filter((name) => name in value)
    return services.length > 0 && services.every((name) => isObject(value[name])) ? null : whole
  },
)

/** The rule of the file that Google defines: an array of statements (Digital Asset Links), each of which may include others. */
export const assetLinks = fileRule(
  'The file `assetlinks.json` of the domain: the text of a JSON array of statements.',
  'an array of statements, each an object with relation and target or with include,',
  (value) => {
    if (!Array.isArray(value)) return whole
    const other = value.findIndex((each) => !isStatement(each))
    return other < 0 ? null : other
  },
)

function isStatement(value: unknown): boolean {
  if (!isObject(value)) return false
  return typeof value.include === 'string' || (Array.isArray(value.relation) && isObject(value.target))
}

/** Returns whether a value of `JsonReader` is an object, not a repeated member. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null
}

/** Returns the rule for the text of a file, which is stored as sent. `shape` describes what `check` accepts. */
function fileRule(description: string, shape: string, check: Check): Rule<string> {
  return {
    schema: Type.String({ contentMediaType: 'application/json', maxLength: maxSize * 1024, description }),
    multiline: true,
    parse: (text, sent = text) => {
      if (Buffer.byteLength(text) > maxSize * 1024) return new Refusal('too_long.file', { most: maxSize })
      // Blanks in place of the trimmed characters, so that positions are those in the sent text.
      const before = sent.slice(0, sent.indexOf(text.charAt(0))).replace(/[^\n]/g, ' ')
      const read = readJsonText(before + text)
      if (read instanceof Refusal) return read
      const { value, reader } = read
      const other = check(value)
      if (other === null) return text
      return new Refusal('not_allowed.json', { shape, ...reader.positionAt(reader.starts[other] ?? before.length) })
    },
  }
}
