/** Renders the Markdown in our descriptions. A complete parser would take longer than the rest of the page. */
import { Html, html } from '../../http/html.ts'

/** Renders blocks separated by blank lines. Headings are of level 3. */
export function markdown(text: string): Html {
  const blocks = text.split(/\n{2,}/).filter((block) => block !== '')
  return html`${blocks.map(blockOf)}`
}

/** Renders code and bold text within a line. */
export function inline(text: string): Html {
  const { text: escaped } = html`${text}`
  return new Html(escaped.replace(/`([^`]+)`/g, '<code>$1</code>').replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>'))
}

function blockOf(block: string): Html {
  const [, code] = /^```\w*\n(.*)\n```$/s.exec(block) ?? []
  if (code !== undefined) return html`<pre><code>${code}</code></pre>`
  if (block.startsWith('## ')) return html`<h3>${block.slice('## '.length)}</h3>`
  if (block.startsWith('- '))
    return html`<ul>${block
      .slice(2)
      .split('\n- ')
      .map((item) => html`<li>${inline(item)}</li>`)}</ul>`
  return html`<p>${inline(block)}</p>`
}
