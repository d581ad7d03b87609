/** Requests about the addresses of links. */
import type { TestApp } from './app.ts'
import type { Json } from './client.ts'
import type { Place } from './links-api.ts'

export const destination = 'https://acme.com/'

/** Returns functions that change and visit link addresses of an account. */
export function addressesIn(app: TestApp, place: Place) {
  const { send, stored } = place
  const addressesOf = ({ id }: Json) => `/links/${id}/addresses`
  return {
    addressesOf,
    /** Stores a link. */
    link: (json: Json = {}): Promise<Json> => place.link({ url: destination, ...json }),
    /** Adds an address to a link. */
    add: (to: Json, json: Json = {}): Promise<Json> => stored(addressesOf(to), json),
    tryAdd: (to: Json, json: Json) => send('POST', addressesOf(to), { json }),
    update: (of: Json, json: Json) => send('PATCH', `/links/${of.id}`, { json }),
    /** Returns where visitors are redirected; the status if they are not. */
    visit: async (alias: string, { name }: Json = place.domain): Promise<string | number> => {
      const { status, headers } = await app.visit(`http://${name}/${encodeURI(alias)}`)
      return headers.location ?? status
    },
    /** Returns the aliases of the further addresses, oldest first. */
    furtherOf: async (of: Json): Promise<string[]> => {
      const { body } = await send('GET', `${addressesOf(of)}?sort=asc`)
      return body.data.map(({ alias }: Json) => alias)
    },
  }
}
