/** A strict reader of HTML. It throws if a browser would repair the document or run a part of it. */
import assert from 'node:assert/strict'

export interface Element {
  readonly name: string
  /** An attribute without a value is empty. */
  readonly attributes: ReadonlyMap<string, string>
  readonly children: (Element | string)[]
  readonly parent: Element | null
}

const setOf = (words: string) => new Set(words.split(' '))
const voids = setOf('area base br col embed hr img input link meta source track wbr')
/** Elements that end an open paragraph (HTML Standard §13.2.6.4.7). */
const blocks = setOf(
  'address article aside blockquote details dialog div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 ' +
    'header hr main nav ol p pre search section summary table ul',
)

/** Elements that must not be in an element, at any depth. */
const forbidden: Readonly<Record<string, ReadonlySet<string>>> = {
  p: blocks,
  form: setOf('form'),
  a: setOf('a button details input select textarea'),
  button: setOf('a button details input label select textarea'),
  label: setOf('label'),
  h1: blocks.difference(setOf('form')),
}

/** The only possible children of elements without text. */
const childrenOf: Readonly<Record<string, ReadonlySet<string>>> = {
  html: setOf('head body'),
  head: setOf('meta title link script noscript'),
  noscript: setOf('meta'),
  table: setOf('caption thead tbody tfoot'),
  thead: setOf('tr'),
  tbody: setOf('tr'),
  tfoot: setOf('tr'),
  tr: setOf('th td'),
  ul: setOf('li'),
  ol: setOf('li'),
  dl: setOf('dt dd div'),
  select: setOf('option optgroup'),
  optgroup: setOf('option'),
}
/** Elements whose content is not read as markup: there must be none. */
const raw = setOf('script style iframe template xmp plaintext')

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' }
const attribute = /\s+([a-zA-Z][a-zA-Z0-9-]*)(?:="([^"<>]*)")?/g
const token = new RegExp(`<(?:/([a-z][a-z0-9]*)|([a-z][a-z0-9]*)((?:${attribute.source})*)\\s*(/?))>|[^<>]+`, 'y')

/** Reads a whole document. Throws if it is not well-formed, or lacks a required part. */
export function readHtml(source: string): Element {
  const doctype = '<!doctype html>\n'
  assert.ok(source.startsWith(doctype), 'the document has no doctype')
  const file: Element = { name: 'file', attributes: new Map(), children: [], parent: null }
  let open = file
  for (let at = doctype.length; at < source.length; at = token.lastIndex) {
    token.lastIndex = at
    try {
      open = readToken(open, token.exec(source))
    } catch (error) {
      const place = source.slice(Math.max(0, at - 200), at + 100)
      throw new assert.AssertionError({ message: `${(error as Error).message}, before: ${place}` })
    }
  }
  assert.equal(open, file, `<${open.name}> is not closed`)
  const [root, ...others] = file.children.filter((child) => typeof child !== 'string' || child.trim() !== '')
  assert.ok(typeof root === 'object' && root.name === 'html' && others.length === 0, 'something is outside of <html>')
  checkDocument(root)
  return root
}

/** Adds text or an element. Returns the innermost open element. */
function readToken(open: Element, match: RegExpExecArray | null): Element {
  assert.ok(match, 'neither a tag nor text')
  const [text, ended, name, attributes = '', , , isEmpty] = match
  if (ended !== undefined) {
    assert.equal(open.name, ended, `</${ended}> closes <${open.name}>`)
    return open.parent as Element
  }
  assert.ok(!raw.has(open.name), `<${open.name}> has content`)
  if (name === undefined) {
    assert.ok(text.trim() === '' || childrenOf[open.name] === undefined, `text in <${open.name}>`)
    open.children.push(decode(text))
    return open
  }
  const element: Element = { name, attributes: readAttributes(attributes), children: [], parent: open }
  assert.notEqual(childrenOf[open.name]?.has(name), false, `<${name}> in <${open.name}>`)
  for (const outer of ancestorsOf(element)) {
    assert.ok(!forbidden[outer.name]?.has(name), `<${name}> within <${outer.name}>`)
  }
  open.children.push(element)
  if (voids.has(name)) return open
  assert.ok(!isEmpty || isInSvg(element), `only a drawing may end in "/>": <${name}>`)
  return isEmpty ? open : element
}

function readAttributes(text: string): Map<string, string> {
  const all = [...text.matchAll(attribute)].map(([, name = '', value = '']) => [name, decode(value)] as const)
  const attributes = new Map(all)
  assert.equal(attributes.size, all.length, `an attribute is repeated: ${text}`)
  return attributes
}

function decode(escaped: string): string {
  return escaped.replace(/&(\w*)(;?)/g, (whole, name: string, semicolon: string) => {
    const character = entities[name]
    assert.ok(character !== undefined && semicolon !== '', `${whole} is no reference`)
    return character
  })
}

function isInSvg(element: Element): boolean {
  return ancestorsOf(element).some(({ name }) => name === 'svg')
}

function ancestorsOf({ parent }: Element): Element[] {
  return parent === null ? [] : [parent, ...ancestorsOf(parent)]
}

/** Returns all elements within, in document order. */
export function elementsIn(element: Element): Element[] {
  return element.children.flatMap((child) => (typeof child === 'string' ? [] : [child, ...elementsIn(child)]))
}

/** Returns the elements within that have this name and these attributes. */
export function allOf(element: Element, name: string, wanted: Readonly<Record<string, string>> = {}): Element[] {
  const has = ({ attributes }: Element) => Object.entries(wanted).every(([key, value]) => attributes.get(key) === value)
  return elementsIn(element).filter((each) => each.name === name && has(each))
}

/** Returns the text as people read it, with white space between words as one space. */
export function textOf(element: Element): string {
  const all = (each: Element | string): string => (typeof each === 'string' ? each : each.children.map(all).join(''))
  return all(element).replace(/\s+/g, ' ').trim()
}

/** Returns the elements and the names of their attributes, whatever the words. Line breaks depend on the words. */
export function shapeOf({ name, attributes, children }: Element): string {
  if (name === 'wbr' && attributes.size === 0) return ''
  const inner = children.map((child) => (typeof child === 'string' ? '' : shapeOf(child))).join('')
  return `<${[name, ...attributes.keys()].join(' ')}>${inner}</>`
}

/** Checks the rules of every document, as far as its style and scripts do not matter. */
function checkDocument(root: Element): void {
  const all = elementsIn(root)
  for (const once of ['head', 'title', 'body', 'main', 'h1']) {
    const found = all.filter((each) => each.name === once && !isInSvg(each))
    assert.equal(found.length, 1, `there must be one <${once}>`)
  }
  const ids = all.flatMap(({ attributes }) => attributes.get('id') ?? [])
  assert.equal(new Set(ids).size, ids.length, `an id is repeated: ${ids.filter((id, at) => ids.indexOf(id) !== at)}`)
  for (const { attributes, parent } of all) {
    for (const [name, value] of attributes) {
      if (name === 'http-equiv' && value === 'refresh' && parent?.name === 'noscript') continue
      assert.doesNotMatch(name, /^(?:on.*|style|srcdoc|http-equiv)$/, 'an attribute is a script or a style')
      for (const id of referencesOf(name, value)) assert.ok(ids.includes(id), `${name}="${value}" refers to no element`)
    }
  }
  for (const label of all.filter(({ name }) => name === 'label')) {
    const isFor = label.attributes.has('for') || elementsIn(label).some(({ name }) => name === 'input')
    assert.ok(isFor, 'a label has no control')
  }
}

/** Returns the ids that an attribute refers to. */
function referencesOf(name: string, value: string): string[] {
  if (name === 'href' && value.startsWith('#')) return [value.slice(1)]
  const refers = ['for', 'aria-describedby', 'aria-labelledby', 'aria-controls', 'popovertarget', 'form', 'data-live']
  return refers.includes(name) ? value.split(' ') : []
}
