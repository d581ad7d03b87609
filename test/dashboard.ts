/**
 * A browser without scripts: it stores cookies, submits forms, and checks every response for the properties of
 * dashboard responses.
 */
import assert from 'node:assert/strict'
import type { TestApp } from './app.ts'
import { type Answer, type Request, repeatWhileOverloaded, sendRequest } from './client.ts'
import { allOf, type Element, elementsIn, readHtml, textOf } from './html-page.ts'
import { newPlace, type Place } from './links-api.ts'
import { loginToken, type MemberOptions } from './members.ts'

/** Form fields by name. */
export type Form = Readonly<Record<string, string>>

export interface Visited extends Answer {
  /** The parsed page. Throws if the response has none. */
  readonly page: Page
}

/** A browser for the dashboard of a test app. */
export class Browser {
  /** Headers of every request, which override a browser's own. */
  headers: Record<string, string> = {}
  readonly cookies = new Map<string, string>()
  readonly #app: Pick<TestApp, 'port'>
  /** The account of the newest page. */
  #account: string | undefined

  constructor(app: Pick<TestApp, 'port'>) {
    this.#app = app
  }

  get(path: string, request: Request = {}): Promise<Visited> {
    return this.ask('GET', path, request)
  }

  /** Posts a form from a dashboard page of the session's account, unless `form` or `headers` override that. */
  async post(path: string, given: Form = {}, { headers, ...request }: Request = {}): Promise<Visited> {
    const form = { ...(await this.#pageAccount(path)), ...given }
    if (path === '/app/switch' || form.switch_to !== undefined) this.#account = undefined
    return this.ask('POST', path, { form, ...request, headers: { 'sec-fetch-site': 'same-origin', ...headers } })
  }

  /** Posts a form with files from a dashboard page. */
  async postFiles(path: string, form: FormData): Promise<Visited> {
    for (const [name, value] of Object.entries(await this.#pageAccount(path)))
      if (!form.has(name)) form.set(name, value)
    const sent = new Response(form)
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': sent.headers.get('content-type') ?? '' }
    return this.ask('POST', path, { body: Buffer.from(await sent.arrayBuffer()), headers })
  }

  /** Returns the page at the path, which must exist. */
  async open(path: string): Promise<Page> {
    const answer = await this.get(path)
    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    return answer.page
  }

  /** Submits the page's form for this path with changed values. Undefined removes a control. */
  submit(page: Page, action: string, typed: Readonly<Record<string, string | undefined>> = {}): Promise<Visited> {
    const all = Object.entries({ ...page.form(action), ...typed })
    return this.post(action, Object.fromEntries(all.filter((each): each is [string, string] => each[1] !== undefined)))
  }

  /** Follows a 303. */
  follow({ status, headers, text }: Answer): Promise<Visited> {
    assert.equal(status, 303, text)
    return this.get(String(headers.location))
  }

  /** Returns the page after a form, with its notices. */
  async after(answer: Answer): Promise<Page> {
    return (await this.follow(answer)).page
  }

  /** Opens a page, submits its form, which has the path of the page by default, and returns the page after it. */
  async save(path: string, typed: Parameters<Browser['submit']>[2] = {}, action = path): Promise<Page> {
    return this.after(await this.submit(await this.open(path), action, typed))
  }

  /** Signs in with a key. */
  async signIn(key: string): Promise<this> {
    const { status, text } = await this.post('/app/sign-in', { api_key: key })
    assert.equal(status, 303, text)
    return this
  }

  /** Sends any request and stores the cookies of its response. */
  async ask(method: string, path: string, { headers, ...request }: Request): Promise<Visited> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = { ...(cookie !== '' && { cookie }), ...this.headers, ...headers }
    const target = { agent: undefined, port: this.#app.port, method, path }
    const send = () => sendRequest(target, { key: null, ...request, headers: sent })
    const answer = request.seesOverload ? await send() : await repeatWhileOverloaded(send, method)
    for (const text of answer.headers['set-cookie'] ?? []) this.#take(text)
    const page = checkVisited({ method, path }, answer)
    this.#account = /name="page_account" value="(\d+)"/.exec(answer.text)?.[1] ?? this.#account
    return {
      ...answer,
      get page(): Page {
        assert.ok(page, `no page: ${answer.status} ${answer.text.slice(0, 200)}`)
        return page
      },
    }
  }

  /** Returns the account of the newest page as a field. Opens a page if there is none. */
  async #pageAccount(path: string): Promise<Form> {
    const isPublic = /^\/app\/(?:sign-in|sign-out|join|scheme|switch)\b/.test(path) || this.cookies.size === 0
    // No notice waits for a refresh.
    if (!isPublic && this.#account === undefined) await this.get('/app/about', { headers: { 'x-refresh': '1' } })
    return isPublic || this.#account === undefined ? {} : { page_account: this.#account }
  }

  #take(text: string): void {
    const [, name = '', value = '', rest = ''] = /^([^=;]+)=([^;]*)(.*)$/.exec(text) ?? []
    if (/waymark$/.test(name) && this.cookies.get(name) !== value) this.#account = undefined
    if (/; Max-Age=0(?:;|$)/.test(rest)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }
}

/** Returns a browser signed in with a key. */
export function signedIn(app: Pick<TestApp, 'port' | 'key'>, key = app.key): Promise<Browser> {
  return new Browser(app).signIn(key)
}

interface SignedInMember extends MemberOptions {
  /** The app's own account by default. */
  readonly account?: number
}

/** Returns a browser in which a new member has signed in: an owner by default. */
export async function signedInMember(
  app: Pick<TestApp, 'port' | 'storage' | 'account'>,
  { account = app.account, ...member }: SignedInMember = {},
): Promise<Browser> {
  const browser = new Browser(app)
  const { status, text } = await browser.post('/app/sign-in', {
    token: await loginToken(app.storage, account, member),
  })
  assert.equal(status, 303, text)
  return browser
}

/** An account with a domain, and a browser in which its owner has signed in. */
export interface Owner extends Place {
  readonly browser: Browser
}

export async function newOwner(app: TestApp): Promise<Owner> {
  const place = await newPlace(app)
  return { ...place, browser: await signedInMember(app, { account: place.account, name: 'Olga' }) }
}

/** Throws if a response lacks a property that all dashboard responses have. Returns the page, if there is one. */
export function checkVisited({ method, path }: { method: string; path: string }, answer: Answer): Page | undefined {
  const { status, headers, text } = answer
  const asked = `${method} ${path} → ${status}`
  assert.match(String(headers['x-request-id']), /^[\w.-]{1,64}$/)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['access-control-allow-origin'], undefined)
  const isOfDashboard = /^\/app(?:[/?]|$)/.test(path)
  if (!isOfDashboard || path.startsWith('/app/static/') || method === 'OPTIONS') return undefined
  assert.equal(headers['cache-control'], 'no-store', asked)
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /default-src 'none'/, asked)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/, asked)
  if (status === 303) assert.match(String(headers.location), /^(?:http:\/\/localhost:\d+)?\/app(?:[/?]|$)/, asked)
  const type = String(headers['content-type'])
  if (status >= 400) assert.equal(type, 'text/html; charset=utf-8', asked)
  if (!type.startsWith('text/html') || method === 'HEAD') return undefined
  for (const rule of ["frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"]) {
    assert.ok(policy.includes(rule), `${asked} lacks ${rule}`)
  }
  return new Page(text)
}

/** A parsed page. */
export class Page {
  readonly root: Element

  /** Throws if the document is malformed or has a forbidden URL. */
  constructor(source: string) {
    this.root = readHtml(source)
    for (const { name, attributes } of elementsIn(this.root)) {
      for (const key of ['href', 'src', 'action', 'formaction']) checkAddress(name, key, attributes.get(key))
    }
  }

  get title(): string {
    return this.#textOf('title')
  }

  get heading(): string {
    return this.#textOf('h1')
  }

  /** The visible text. */
  get text(): string {
    return this.#textOf('body')
  }

  /** The text of notices and errors. */
  get said(): string[] {
    const all = elementsIn(this.root).filter(({ attributes }) =>
      ['status', 'alert'].includes(attributes.get('role') ?? ''),
    )
    return all.map(textOf)
  }

  /** The notices about earlier changes, which may offer to undo them. */
  get notices(): { readonly text: string; readonly canUndo: boolean }[] {
    return allOf(this.root, 'div', { role: 'status' }).map((notice) => ({
      text: textOf(notice),
      canUndo: allOf(notice, 'form', { action: '/app/history/undo' }).length > 0,
    }))
  }

  /** The sentences of a history about changes, without their times. */
  get deeds(): string[] {
    return allOf(this.root, 'div', { class: 'deed' }).map((deed) => {
      const [sentence = deed] = allOf(deed, 'p')
      const isTime = (part: Element | string) =>
        typeof part !== 'string' && part.attributes.get('class') === 'muted small'
      return textOf({ ...sentence, children: sentence.children.filter((part) => !isTime(part)) })
    })
  }

  /** The warnings next to values. */
  get cautions(): string[] {
    const all = elementsIn(this.root).filter(({ attributes }) => attributes.get('class') === 'caution')
    return all.map(textOf)
  }

  /** All link targets. */
  get links(): string[] {
    return allOf(this.root, 'a').flatMap(({ attributes }) => attributes.get('href') ?? [])
  }

  /** The paths of all POST forms. */
  get actions(): string[] {
    return elementsIn(this.root).flatMap(({ name, attributes }) =>
      name === 'form' && attributes.get('method') === 'post'
        ? (attributes.get('action') ?? [])
        : (attributes.get('formaction') ?? []),
    )
  }

  /** Returns the control with this name. */
  control(name: string): Element {
    const found = this.controls().filter(({ attributes }) => attributes.get('name') === name)
    const one = found.find(({ attributes }) => attributes.has('checked')) ?? found[0]
    assert.ok(one, `the page has no control ${name}`)
    return one
  }

  /** Returns the value that a control would send. */
  value(name: string): string {
    return sentBy(this.control(name)) ?? ''
  }

  /** Returns the error and the help of an invalid control. Throws if it is not marked as invalid. */
  errorOf(name: string): string {
    const of = this.controls().filter(({ attributes }) => attributes.get('name') === name)
    const refused = of.find(({ attributes }) => attributes.get('aria-invalid') === 'true')
    assert.ok(refused, `the control ${name} is not marked as refused`)
    const ids = (refused.attributes.get('aria-describedby') ?? '').split(' ')
    return elementsIn(this.root)
      .filter(({ attributes }) => ids.includes(attributes.get('id') ?? ''))
      .map(textOf)
      .join(' ')
  }

  /** The names of invalid controls. */
  get refused(): string[] {
    const marked = this.controls().filter(({ attributes }) => attributes.get('aria-invalid') === 'true')
    return [...new Set(marked.map(({ attributes }) => attributes.get('name') ?? ''))]
  }

  /** Returns the fields that the POST form for this path sends with its first unnamed button. */
  form(action: string): Form {
    const [form] = allOf(this.root, 'form', { method: 'post', action })
    assert.ok(form, `the page has no form for ${action}`)
    return this.fieldsOf(form)
  }

  /** Returns the fields that a form sends with its first unnamed button. */
  fieldsOf(form: Element): Form {
    const sent = this.#controlsOf(form).flatMap((control) => {
      const [name, value] = [control.attributes.get('name'), sentBy(control)]
      return name === undefined || value === null ? [] : [[name, value]]
    })
    return Object.fromEntries(sent)
  }

  controls(within = this.root): Element[] {
    return elementsIn(within).filter(({ name }) => ['input', 'select', 'textarea'].includes(name))
  }

  /** Includes controls outside the form that refer to it by id. */
  #controlsOf(form: Element): Element[] {
    const id = form.attributes.get('id')
    const inside = this.controls(form).filter(({ attributes }) => !attributes.has('form'))
    return [...inside, ...this.controls().filter(({ attributes }) => id !== undefined && attributes.get('form') === id)]
  }

  #textOf(name: string): string {
    return allOf(this.root, name).map(textOf).join(' ')
  }
}

/** Returns null for an unchecked box. */
function sentBy(control: Element): string | null {
  const { name, attributes } = control
  if (name === 'textarea') return control.children.join('')
  if (name === 'select') {
    const options = allOf(control, 'option')
    const chosen = options.find((option) => option.attributes.has('selected')) ?? options[0]
    return chosen === undefined ? null : (chosen.attributes.get('value') ?? textOf(chosen))
  }
  const isChoice = ['checkbox', 'radio'].includes(attributes.get('type') ?? '')
  if (isChoice && !attributes.has('checked')) return null
  return attributes.get('value') ?? (isChoice ? 'on' : '')
}

const own = 'http://own.invalid'

/** Pages link only to web URLs. Forms and files are on the same host. */
function checkAddress(name: string, key: string, value: string | undefined): void {
  if (value === undefined) return
  const url = URL.parse(value, `${own}/app/x`)
  assert.ok(url !== null && /^https?:$/.test(url.protocol), `${key}="${value}"`)
  if (name !== 'a') assert.equal(url.origin, own, `${key}="${value}" is on another host`)
}
