/** Finds all forms that a person can reach. */
import assert from 'node:assert/strict'
import type { TestApp } from './app.ts'
import type { Browser, Form, Page } from './dashboard.ts'
import { allOf, elementsIn } from './html-page.ts'

/** A form of a page, with the fields of one of its buttons. */
export interface FoundForm {
  readonly action: string
  readonly fields: Form
}

/** Returns a page's forms, once for each button with a name. */
function formsOn(page: Page): FoundForm[] {
  const buttons = allOf(page.root, 'button').filter(({ attributes }) => attributes.get('type') !== 'button')
  const posted = allOf(page.root, 'form', { method: 'post' })
  return posted.flatMap((form) => {
    const [action, id] = [form.attributes.get('action'), form.attributes.get('id')]
    const inside = new Set(elementsIn(form))
    const own = buttons.filter(
      (button) => inside.has(button) || (id !== undefined && button.attributes.get('form') === id),
    )
    const fields = page.fieldsOf(form)
    return own.flatMap(({ attributes }) => {
      const [name, to] = [attributes.get('name'), attributes.get('formaction') ?? action]
      const value = name === undefined ? {} : { [name]: attributes.get('value') ?? '' }
      return to === undefined ? [] : [{ action: to, fields: { ...fields, ...value } }]
    })
  })
}

interface CrawlOptions {
  /** Selects paths to leave out. */
  readonly isSkipped?: (path: string) => boolean
  /** Of the paths with the same kind and parameters, only one is opened. */
  readonly kindOf?: (path: string) => string
}

/** Opens all linked pages. Returns their kinds and forms. Fails if a page doesn't open. */
export async function crawl(
  app: Pick<TestApp, 'origin'>,
  browser: Browser,
  { isSkipped = () => false, kindOf = (path) => path }: CrawlOptions,
): Promise<{ readonly pages: ReadonlySet<string>; readonly forms: readonly FoundForm[] }> {
  const found = new Map<string, FoundForm>()
  const pages = new Set<string>()
  const toSee = ['/app']
  for (let path = toSee.pop(); path !== undefined; path = toSee.pop()) {
    const { pathname, searchParams } = new URL(path, app.origin)
    const kind = `${kindOf(pathname)}?${[...searchParams.keys()].sort()}`
    if (pages.has(kind) || isSkipped(pathname)) continue
    pages.add(kind)
    const answer = await browser.get(path)
    assert.equal(answer.status, 200, `${path}: ${answer.status}`)
    if (!String(answer.headers['content-type']).startsWith('text/html')) continue
    for (const form of formsOn(answer.page)) {
      const { next: _, once: __, version: ___, ...rest } = form.fields
      found.set(JSON.stringify([form.action, rest]), form)
    }
    const urls = answer.page.links.map((link) => new URL(link, app.origin + path))
    const own = urls.filter(({ origin, pathname }) => origin === app.origin && /^\/app(?:\/|$)/.test(pathname))
    toSee.push(...own.map(({ pathname, search }) => pathname + search))
  }
  return { pages, forms: [...found.values()] }
}
