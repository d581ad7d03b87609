/** Imports through the API. */
import assert from 'node:assert/strict'
import type { Answer, Json } from './client.ts'
import type { Place } from './links-api.ts'
import { eventually } from './processes.ts'

/** Sends a file to be planned. */
export function sendFile(
  { send }: Place,
  body: string,
  query: Record<string, string> = {},
  type = 'text/csv',
): Promise<Answer> {
  return send('POST', `/imports?${new URLSearchParams(query)}`, { body, headers: { 'content-type': type } })
}

/** Plans a file, and returns the import with its rows. */
export async function planFile(
  place: Place,
  body: string,
  query: Record<string, string> = {},
  type = 'text/csv',
): Promise<Json> {
  const answer = await sendFile(place, body, query, type)
  assert.ok(answer.status === 201 || answer.status === 202, answer.text)
  const { id } = answer.body.data
  assert.match(String(answer.headers.location), new RegExp(`/api/v1/imports/${id}$`))
  let { data } = answer.body
  await eventually(async () => {
    data = (await place.send('GET', `/imports/${id}`)).body.data
    return data.state !== 'planning'
  })
  if (answer.status === 201) assert.deepEqual(data, answer.body.data)
  assert.equal(data.state, 'planned', JSON.stringify(data.error))
  return { ...data, shown: await rowsOf(place, data.id) }
}

export async function rowsOf({ send }: Place, id: number, query = 'per_page=100'): Promise<Json[]> {
  return (await send('GET', `/imports/${id}/rows?${query}`)).body.data
}

/** Applies an import and returns it. */
export function applyImport(place: Place, { id }: Json): Promise<Json> {
  return finished(place, `/imports/${id}`, 'apply')
}

/** Undoes an import and returns it. */
export function undoImport(place: Place, { id }: Json): Promise<Json> {
  return finished(place, `/imports/${id}`, 'undo')
}

/** Runs a job. A busy machine may need more than the second for which a request waits. */
async function finished({ send }: Place, path: string, job: 'apply' | 'undo'): Promise<Json> {
  const answer = await send('POST', `${path}/${job}`)
  assert.ok(answer.status === 200 || answer.status === 202, answer.text)
  let { data } = answer.body
  await eventually(async () => {
    if (answer.status === 202) data = (await send('GET', path)).body.data
    return ['applied', 'undone'].includes(data.state) && (job === 'apply' || data.state === 'undone')
  })
  return data
}

export async function linksOf({ send }: Place): Promise<Json[]> {
  return (await send('GET', '/links?sort=asc&per_page=100&archived=any')).body.data
}

/** Rows of a table with an address and a URL. */
export const table = (...rows: readonly (readonly [address: string, url: string, ...rest: string[]])[]) =>
  ['short_url,url', ...rows.map((row) => row.join(','))].join('\n')

export const tea = 'https://tea.example'
export const outcomesOf = ({ shown }: Json) => shown.map(({ outcome, code }: Json) => code ?? outcome)

/** Returns a file with two links, of which one has two addresses. */
export const bitlyOf = (host: string) => `Link,Custom Link,Date created,Title,Destination URL,Engagements,Status
https://${host}/4kQz9L,https://${host}/Tea-Menu,2025-03-09T07:15:00+0000,Tea,${tea}/,"2,048",Active
https://${host}/old,,2024-01-02T03:04:05+0000,,${tea}/old,7,Deleted
`
