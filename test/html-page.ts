/**
 * A strict reader of HTML: it takes what a browser understands as it is written, and throws at whatever a browser would repair.
 */
import assert from 'node:assert/strict'

export interface Element {
  readonly name: string
  /** An attribute without a value has the empty one. */
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly (Element | string)[]
  readonly parent: Element | null
}

interface Open extends Element {
  readonly attributes: Map<string, string>
  readonly children: (Element | string)[]
  readonly parent: Open | null
}

const voids = new Set('area base br col embed hr img input link meta source track wbr'.split(' '))
/** What ends an open paragraph (HTML Standard §13.2.6.4.7). */
const blocks = new Set(
  (
    'address article aside blockquote details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr ' +
    'main nav ol p pre search section summary table ul'
  ).split(' '),
)
const interactive = new Set(['a', 'button', 'details', 'input', 'label', 'select', 'textarea'])

/** What may not stand in an element, at any depth. */
const bars: Readonly<Record<string, ReadonlySet<string>>> = {
  p: blocks,
  form: new Set(['form']),
  a: new Set([...interactive].filter((name) => name !== 'label')),
  button: interactive,
  label: new Set(['label']),
  h1: new Set([...blocks].filter((name) => name !== 'form')),
}

/** What alone may stand in an element, as its child. */
const mayHold: Readonly<Record<string, readonly string[]>> = {
  html: ['head', 'body'],
  head: ['meta', 'title', 'link', 'script'],
  table: ['caption', 'thead', 'tbody', 'tfoot'],
  thead: ['tr'],
  tbody: ['tr'],
  tfoot: ['tr'],
  tr: ['th', 'td'],
  ul: ['li'],
  ol: ['li'],
  dl: ['dt', 'dd', 'div'],
  select: ['option'],
}
const textless = new Set(Object.keys(mayHold))
/** Content that no browser reads as markup: there must be none. */
const raw = new Set(['script', 'style', 'iframe', 'noscript', 'template', 'xmp', 'plaintext'])

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' }
const attribute = /\s+([a-zA-Z][a-zA-Z0-9-]*)(?:="([^"<>]*)")?/y
const start = /<([a-z][a-z0-9]*)/y
const end = /<\/([a-z][a-z0-9]*)>/y
const text = /[^<>]+/y

/** Reads a whole document. Throws if it is not well-formed, or not what every page must be. */
export function readHtml(source: string): Element {
  const doctype = '<!doctype html>\n'
  assert.ok(source.startsWith(doctype), 'the document has no doctype')
  const root = new Reader(source, doctype.length).read()
  checkDocument(root)
  return root
}

class Reader {
  readonly #source: string
  #at: number
  #open: Open | null = null
  #root: Open | null = null

  constructor(source: string, at: number) {
    this.#source = source
    this.#at = at
  }

  read(): Element {
    while (this.#at < this.#source.length) {
      if (this.#take(end, ([, name = '']) => this.#close(name))) continue
      if (this.#take(start, ([, name = '']) => this.#begin(name))) continue
      if (this.#take(text, ([words]) => this.#say(words))) continue
      this.#refuse('neither a tag nor text')
    }
    if (this.#open !== null) this.#refuse(`<${this.#open.name}> is not closed`)
    assert.ok(this.#root, 'the document is empty')
    return this.#root
  }

  #take(pattern: RegExp, act: (match: RegExpExecArray) => void): boolean {
    pattern.lastIndex = this.#at
    const match = pattern.exec(this.#source)
    if (match === null) return false
    this.#at = pattern.lastIndex
    act(match)
    return true
  }

  #begin(name: string): void {
    const attributes = new Map<string, string>()
    const read = ([, key = '', value = '']: RegExpExecArray) => {
      if (attributes.has(key)) this.#refuse(`the attribute ${key} stands twice`)
      attributes.set(key, this.#decoded(value))
    }
    while (this.#take(attribute, read));
    const rest = /^\s*(\/?)>/.exec(this.#source.slice(this.#at, this.#at + 100))
    if (rest === null) this.#refuse(`<${name}> has an attribute without quotes, or no end`)
    this.#at += rest[0].length
    const element: Open = { name, attributes, children: [], parent: this.#open }
    this.#place(element)
    if (voids.has(name)) return
    if (rest[1] !== '/') this.#open = element
    else if (!isInSvg(element)) this.#refuse(`only what is drawn may end in "/>": <${name}>`)
  }

  #place(element: Open): void {
    const { name, parent } = element
    if (parent === null) {
      if (this.#root !== null || name !== 'html') this.#refuse(`<${name}> stands outside of <html>`)
      this.#root = element
      return
    }
    if (raw.has(parent.name)) this.#refuse(`<${parent.name}> has content`)
    const held = mayHold[parent.name]
    if (held?.includes(name) === false) this.#refuse(`<${name}> stands in <${parent.name}>`)
    for (const outer of ancestorsOf(element)) {
      if (bars[outer.name]?.has(name) && !(outer.name === 'label' && name !== 'label')) {
        this.#refuse(`<${name}> stands within <${outer.name}>`)
      }
    }
    parent.children.push(element)
  }

  #close(name: string): void {
    if (this.#open?.name !== name) this.#refuse(`</${name}> closes <${this.#open?.name}>`)
    this.#open = this.#open.parent
  }

  #say(words: string): void {
    const isBlank = words.trim() === ''
    if (this.#open === null) {
      if (!isBlank) this.#refuse('text stands outside of <html>')
      return
    }
    if (!isBlank && textless.has(this.#open.name)) this.#refuse(`text stands in <${this.#open.name}>`)
    if (raw.has(this.#open.name)) this.#refuse(`<${this.#open.name}> has content`)
    this.#open.children.push(this.#decoded(words))
  }

  #decoded(escaped: string): string {
    return escaped.replace(/&(\w*)(;?)/g, (whole, name: string, semicolon: string) => {
      const character = semicolon === '' ? undefined : entities[name]
      return character ?? this.#refuse(`${whole} is no reference`)
    })
  }

  #refuse(what: string): never {
    assert.fail(`${what}, before: ${this.#source.slice(Math.max(0, this.#at - 200), this.#at + 100)}`)
  }
}

function isInSvg(element: Element): boolean {
  return ancestorsOf(element).some(({ name }) => name === 'svg')
}

export function ancestorsOf({ parent }: Element): Element[] {
  return parent === null ? [] : [parent, ...ancestorsOf(parent)]
}

/** All elements within, in the order of the document. */
export function elementsIn(element: Element): Element[] {
  return element.children.flatMap((child) => (typeof child === 'string' ? [] : [child, ...elementsIn(child)]))
}

/** The elements of this name within, that have these attributes. */
export function allOf(element: Element, name: string, wanted: Readonly<Record<string, string>> = {}): Element[] {
  const has = ({ attributes }: Element) => Object.entries(wanted).every(([key, value]) => attributes.get(key) === value)
  return elementsIn(element).filter((each) => each.name === name && has(each))
}

/** The text within, as people read it, with the white space between words as one space. */
export function textOf(element: Element): string {
  const all = (each: Element | string): string => (typeof each === 'string' ? each : each.children.map(all).join(''))
  return all(element).replace(/\s+/g, ' ').trim()
}

/**
 * What a document consists of, whatever its words: its elements, each with the names of its attributes. Where a line may break
 * depends on the words.
 */
export function shapeOf({ name, attributes, children }: Element): string {
  if (name === 'wbr' && attributes.size === 0) return ''
  const inner = children.map((child) => (typeof child === 'string' ? '' : shapeOf(child))).join('')
  return `<${[name, ...attributes.keys()].join(' ')}>${inner}</>`
}

/** What holds for every document, as far as one can tell without its style and scripts. */
function checkDocument(root: Element): void {
  const all = elementsIn(root)
  for (const once of ['head', 'title', 'body', 'main', 'h1']) {
    const found = all.filter((each) => each.name === once && !isInSvg(each))
    assert.equal(found.length, 1, `there must be one <${once}>`)
  }
  const ids = all.flatMap(({ attributes }) => attributes.get('id') ?? [])
  assert.equal(new Set(ids).size, ids.length, `an id stands twice: ${ids.filter((id, at) => ids.indexOf(id) !== at)}`)
  for (const { attributes } of all) {
    for (const [name, value] of attributes) {
      assert.doesNotMatch(name, /^(?:on.*|style|srcdoc|http-equiv)$/, 'no attribute is a script or a style')
      for (const id of referencesOf(name, value)) assert.ok(ids.includes(id), `${name}="${value}" leads to no element`)
    }
  }
  for (const label of all.filter(({ name }) => name === 'label')) {
    const isFor = label.attributes.has('for') || elementsIn(label).some(({ name }) => name === 'input')
    assert.ok(isFor, 'a label belongs to no control')
  }
}

/** The ids that an attribute refers to. */
function referencesOf(name: string, value: string): string[] {
  if (name === 'href' && value.startsWith('#')) return [value.slice(1)]
  const refers = ['for', 'aria-describedby', 'aria-labelledby', 'aria-controls', 'popovertarget', 'form', 'data-live']
  return refers.includes(name) ? value.split(' ') : []
}
