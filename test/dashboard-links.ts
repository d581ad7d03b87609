/** An owner who changes several links of the list at once. */
import type { TestApp } from './app.ts'
import type { Json } from './client.ts'
import { type Form, newOwner, type Owner, type Page, type Visited } from './dashboard.ts'

/** The path of the form with the selected links. */
export const selected = '/app/links/selected'

/** Returns the fields of the rows of links. */
export const rows = (...links: readonly Json[]): Form => Object.fromEntries(links.map(({ id }) => [`row-${id}`, 'on']))

export interface Editor extends Owner {
  /** Returns a link as the API shows it; undefined if it is deleted. */
  shown(link: Json): Promise<Json>
  /** Sends an action on these links, which may be a question. */
  ask(form: Form, ...links: readonly Json[]): Promise<Visited>
  /** Sends an action, and answers its question. Returns the page after it. */
  confirm(form: Form, ...links: readonly Json[]): Promise<Page>
  /** Presses Undo. Returns the page after it. */
  undo(page: Page): Promise<Page>
}

export async function newEditor(app: TestApp): Promise<Editor> {
  const owner = await newOwner(app)
  const { browser, send } = owner
  const ask: Editor['ask'] = (form, ...links) => browser.post(selected, { ...rows(...links), ...form })
  return {
    ...owner,
    shown: async ({ id }) => (await send('GET', `/links/${id}`)).body.data,
    ask,
    confirm: async (form, ...links) => {
      const { page } = await ask(form, ...links)
      return browser.after(await browser.submit(page, selected))
    },
    undo: async (page) => {
      const answer = await browser.submit(page, '/app/history/undo')
      return answer.status === 303 ? browser.after(answer) : answer.page
    },
  }
}
