/** The pages of `docs/` as HTML, for people who use this server. */
import { readdirSync, readFileSync } from 'node:fs'
import { Marked, type Token } from 'marked'
import { navigationLink } from '../../src/frame/document.ts'
import { escaped, Html, html } from '../../src/http/html.ts'
import { renderPage } from './page.ts'

const folder = new URL('../../docs/', import.meta.url)
const contents = 'README'

/** All page names, without `.md`. */
const names: ReadonlySet<string> = new Set(
  readdirSync(folder).flatMap((file) => (file.endsWith('.md') ? file.slice(0, -'.md'.length) : [])),
)

/** Renders the pages. Returns them by name. */
export function manualPages(): [name: string, page: string][] {
  return [...names].map((name) => [name, renderManual(name)])
}

function renderManual(name: string): string {
  const tokens = marked.lexer(readFileSync(new URL(`${name}.md`, folder), 'utf8'))
  const [first] = tokens
  const title = first !== undefined && 'text' in first ? first.text : name
  const content = new Html(marked.parser(tokens.filter((token) => token !== first)))
  const items = listPages().map(
    ([page, label]) =>
      html`<li><a href="/docs/${page}"${page === name ? html` aria-current="page"` : null}>${label}</a></li>`,
  )
  return renderPage({
    title,
    label: 'Documentation',
    sections: [
      navigationLink('overview', 'Dashboard', '/app'),
      navigationLink('docs', 'Contents', `/docs/${contents}`, name === contents),
      navigationLink('operations', 'API', '/docs'),
    ],
    contents: html`<p>Pages</p><ul class="items">${items}</ul>`,
    main: html`<header class="head"><h1>${title}</h1></header>
<section>${content}</section>`,
  })
}

/** Returns the pages' names and labels, in the order of the contents. */
function listPages(): [name: string, label: string][] {
  const text = readFileSync(new URL(`${contents}.md`, folder), 'utf8')
  return [...text.matchAll(/\[([^\]]+)\]\(([\w-]+)\.md\)/g)].map(([, label = '', name = '']) => [name, label])
}

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${escaped(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const words = this.parser.parseInline(tokens)
      const target = targetOf(href)
      return target === null ? words : `<a href="${escaped(target)}">${words}</a>`
    },
    image: ({ text }) => escaped(text),
    // A heading without text would be no heading.
    tablecell({ header, tokens, align }) {
      const words = this.parser.parseInline(tokens)
      const name = header && words !== '' ? 'th' : 'td'
      return `<${name}${align === 'right' ? ' class="number"' : ''}>${words}</${name}>\n`
    },
  },
  walkTokens: (token: Token) => {
    // The pages are ours and have no HTML, apart from comments.
    if (token.type === 'html') token.text = ''
  },
})

/** Returns the id that GitHub gives a heading. */
function anchorOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

/** Returns the URL of a link on this server; null for a file that it doesn't serve. */
function targetOf(href: string): string | null {
  if (/^(?:https?:|#|\/)/.test(href)) return href
  if (href === 'openapi.json') return '/openapi.json'
  const [, name = '', anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? []
  return names.has(name) ? `/docs/${name}${anchor}` : null
}
