/** Comparison of the events that a change stores with the expected ones. */
import assert from 'node:assert/strict'
import type { Json } from './client.ts'
import { fresh, type Place } from './links-api.ts'

/** The type of an event, and its record. A record that the change stores has no id yet. */
export type Expected = readonly [type: string, record: Json]

/** Throws unless these are the expected events, in any order, of one change. Each has these other members. */
export function assertEvents(
  found: readonly Json[],
  expected: readonly Expected[],
  others: { readonly actor: Json; readonly request_id: string | null },
): void {
  const lines = expected.map(([type, { short_url, name }]) => `${type} ${short_url ?? name}`)
  assert.deepEqual(found.map(({ type, record_name }) => `${type} ${record_name}`).toSorted(), lines.toSorted())
  assert.equal(new Set(found.map(({ batch_id }) => batch_id)).size, 1)
  for (const { type, record, record_id, record_name, actor, request_id } of found) {
    assert.equal(record, type.split('.')[0])
    assert.deepEqual({ actor, request_id }, others)
    const [, { id = record_id }] = expected[lines.indexOf(`${type} ${record_name}`)] as Expected
    assert.equal(record_id, id)
  }
}

/** Throws unless each name has an example or a reason. Names may have several examples, with different words in parentheses. */
export function assertComplete(names: readonly string[], examples: object, reasons: object = {}): void {
  const known = [...Object.keys(examples).map(nameOf), ...Object.keys(reasons)]
  assert.deepEqual([...new Set(known)].toSorted(), names.toSorted())
}

/** Returns the name that an example is about. */
export function nameOf(example: string): string {
  return example.replace(/ \(.*/, '')
}

/** Returns a name that domains, spaces and tags can have. */
export const newName = () => `${fresh('n')}.example`

/** Returns the fields of a new link on the domain of a place, and the link that they make. */
export function newLink({ domain }: Pick<Place, 'domain'>) {
  const fields = { url: 'https://acme.com/', alias: fresh('new') }
  return { fields, made: { short_url: `http://${domain.name}:3080/${fields.alias}` } }
}

/** Returns the newest event of the account. */
export async function newestEvent({ send }: Pick<Place, 'send'>): Promise<Json> {
  return (await send('GET', '/events')).body.data[0]
}
