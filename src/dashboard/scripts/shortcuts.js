/** Keyboard shortcuts. They can be turned off, because speech input types words as keys (WCAG 2.1.4). */
import { openDialog } from './dialogs.js'

/** @type {Readonly<Record<string, string>>} */
const paths = { o: '/app', l: '/app/links', t: '/app/tags', s: '/app/spaces', d: '/app/domains', h: '/app/history' }
const explained = [
  ['/', 'Search'],
  ['c', 'New link'],
  ['g o', 'Overview'],
  ['g l', 'Links'],
  ['g t', 'Tags'],
  ['g s', 'Spaces'],
  ['g d', 'Domains'],
  ['g h', 'History'],
  ['?', 'Keyboard shortcuts'],
  ['Esc', 'Close'],
]
const switchName = 'keys-off'

let isPathNext = false
document.addEventListener('keydown', (event) => {
  if (!isShortcut(event) || isOff()) return
  const { key } = event
  const path = isPathNext ? paths[key] : undefined
  isPathNext = key === 'g'
  if (path !== undefined) location.assign(path)
  else if (key === 'c' && canCreate()) newLink()
  else if (key === '?') explain()
  else if (key !== '/' || !focusSearch()) return
  event.preventDefault()
})
document.addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('[data-keys]') !== null) explain()
})

/** @type {(event: KeyboardEvent) => boolean} */
function isShortcut({ target, ctrlKey, metaKey, altKey, isComposing }) {
  if (ctrlKey || metaKey || altKey || isComposing) return false
  if (target instanceof HTMLElement && target.matches('input, select, textarea')) return false
  return document.querySelector('dialog[open], [popover]:popover-open') === null
}

/** Returns whether this person can create links. */
function canCreate() {
  return document.querySelector('[data-keys="create"]') !== null
}

function newLink() {
  const link = document.querySelector('a[href="/app/links/new"]')
  if (link instanceof HTMLElement) link.click()
  else location.assign('/app/links/new')
}

/** Focuses the search field. Returns false if the page has none. */
function focusSearch() {
  const search = document.querySelector('input[type="search"]')
  if (!(search instanceof HTMLInputElement)) return false
  search.focus()
  search.select()
  return true
}

function isOff() {
  return localStorage.getItem(switchName) !== null
}

function explain() {
  const rows = explained
    .filter(([keys]) => keys !== 'c' || canCreate())
    .map(([keys = '', words]) => {
      const terms = keys.split(' ').map((key) => `<kbd>${key}</kbd> `)
      return `<div><dt>${terms.join('')}</dt><dd>${words}</dd></div>`
    })
  const template = document.createElement('template')
  template.innerHTML = `<header class="head"><h1>Keyboard shortcuts</h1></header><dl class="keys">${rows.join('')}</dl>
<p class="choice"><input type="checkbox" id="use-keys"><label for="use-keys">Use keyboard shortcuts</label></p>`
  const { content } = template
  const use = content.querySelector('input')
  if (use) use.checked = !isOff()
  use?.addEventListener('change', () => {
    if (use.checked) localStorage.removeItem(switchName)
    else localStorage.setItem(switchName, '')
  })
  openDialog(content)
}
