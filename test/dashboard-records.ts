/** An account with everything that the dashboard can show. */

import type { TestApp } from './app.ts'
import type { Json } from './client.ts'
import { addClicks, dayWith } from './days.ts'
import { newPlace, type Place } from './links-api.ts'
import { loginToken } from './members.ts'

export interface Furnished extends Place {
  readonly links: readonly Json[]
  readonly space: Json
}

/** Stores records of every kind and state, with clicks. `words` fills the free-text fields. */
export async function furnish(app: TestApp, words: string = 'Plain'): Promise<Furnished> {
  const place = await newPlace(app)
  const space = await place.stored('/spaces', { name: words, color: 3 })
  await place.stored('/spaces', { name: 'Empty' })
  await place.stored('/domains', { name: `second.${place.domain.name}`, homepage_url: 'https://acme.com/' })
  const links = [
    await place.link({ title: words, space_id: space.id }),
    await place.link({ disabled: true }),
    await place.link({ active_period_end_at: '2020-01-01T00:00:00Z', expiration_url: 'https://acme.com/over' }),
    await place.link({ active_period_start_at: '2090-01-01T00:00:00Z', redirect_password: 'secret', clicks_limit: 5 }),
    await place.link({ url: 'https://acme.com/spring?a=1&b=2', forward_query: true, redirect_status: 301 }),
  ]
  const values = { countries: 'DE', browsers: 'Chrome', referrers: 'www.google.com', languages: 'de' }
  const today = Math.floor(Date.now() / 86_400_000)
  await addClicks(app.storage, links[0].id, today, dayWith([{ hour: 1, kind: 'people', isFirst: true, values }]))
  await loginToken(app.storage, place.account)
  return { ...place, links, space }
}
