/** The link form of an account, of which tests press buttons without scripts, and rules to store. */
import assert from 'node:assert/strict'
import type { Json } from './client.ts'
import type { Form, Owner, Page } from './dashboard.ts'
import { allOf, type Element, elementsIn, textOf } from './html-page.ts'

export const newLinks = '/app/links'

type Typed = Readonly<Record<string, string | undefined>>

/** Opens forms of this account's links. */
export class RuleForms {
  readonly #owner: Owner

  constructor(owner: Owner) {
    this.#owner = owner
  }

  async create(query = ''): Promise<RuleForm> {
    return new RuleForm(this.#owner, await this.#owner.browser.open(`${newLinks}/new${query}`), newLinks)
  }

  async edit(id: number): Promise<RuleForm> {
    const path = `${newLinks}/${id}`
    return new RuleForm(this.#owner, await this.#owner.browser.open(`${path}/edit`), path)
  }
}

/** A form, after pressed buttons. */
export class RuleForm {
  page: Page
  readonly action: string
  readonly #owner: Owner

  constructor(owner: Owner, page: Page, action: string) {
    this.#owner = owner
    this.page = page
    this.action = action
  }

  /** Presses a button that only changes the form. */
  async press(button: string, typed: Typed = {}): Promise<void> {
    assert.ok(this.buttons.includes(button), `no button ${button}`)
    const { status, page } = await this.#submit({ ...typed, edit_rules: button })
    assert.equal(status, 200)
    this.page = page
  }

  /** Saves, and returns the stored rules. */
  async save(typed: Typed = {}): Promise<Json> {
    const { status, headers, text } = await this.#submit(typed)
    assert.equal(status, 303, text)
    return storedRules(this.#owner, Number(headers.location?.split('/').at(-1)))
  }

  /** Saves in vain. */
  async reject(typed: Typed = {}, status = 422): Promise<void> {
    const answer = await this.#submit(typed)
    assert.equal(answer.status, status, answer.text)
    this.page = answer.page
  }

  #submit(typed: Typed) {
    return this.#owner.browser.submit(this.page, this.action, typed)
  }

  /** The names of controls, and the values of buttons, that get the focus. */
  get focus(): string[] {
    return elementsIn(this.page.root)
      .filter(({ attributes }) => attributes.has('autofocus'))
      .map(({ attributes }) => attributes.get(attributes.get('name') === 'edit_rules' ? 'value' : 'name') ?? '')
  }

  /** The values that the controls of rules send. */
  get values(): Form {
    const all = Object.entries(this.page.form(this.action))
    return Object.fromEntries(all.filter(([name]) => /^(?:exact_)?rules\./.test(name) && !name.endsWith('.condition')))
  }

  get buttons(): string[] {
    return allOf(this.page.root, 'button', { name: 'edit_rules' }).map(
      ({ attributes }) => attributes.get('value') ?? '',
    )
  }

  get section(): Element {
    const section = allOf(this.page.root, 'details').find((each) => /^Rules/.test(textOf(each).trim()))
    assert.ok(section)
    return section
  }

  get isOpen(): boolean {
    return this.section.attributes.has('open')
  }
}

export async function storedRules(owner: Owner, id: number): Promise<Json> {
  return (await owner.send('GET', `/links/${id}`)).body.data.rules
}

export const de = { name: 'German', countries: ['DE', 'AT'], languages: ['de'], url: 'https://acme.com/de' }
export const split = {
  name: 'Test',
  urls: [
    { url: 'https://acme.com/a', weight: 60 },
    { url: 'https://acme.com/b', weight: 40 },
  ],
}
export const all = {
  name: 'All',
  countries: ['DE', 'VC', 'XK'],
  languages: ['de', 'pt-BR', 'DE', '*'],
  devices: ['mobile', 'tv'],
  operating_systems: ['iOS', 'Chrome OS'],
  browsers: ['Samsung Internet for Android'],
  query: { utm_source: 'a,b&c=d%', ref: null, 'x=y,': '' },
  from: '2026-10-25T00:30:00.000Z',
  until: '2030-01-02T03:04:05.678Z',
  weekdays: [1, 7],
  hours: '22:00-24:00',
  url: 'https://acme.com/all',
}
