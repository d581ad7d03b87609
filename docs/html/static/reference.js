/** Filters the page, stores the key until the tab is closed, and shows and sends requests. */
import { exampleIn, formFields, languages } from './examples.js'

/** @type {<E extends Element = HTMLElement>(selector: string, from?: ParentNode) => E} */
const one = (selector, from = document) => {
  const found = from.querySelector(selector)
  if (found === null) throw new Error(`The page has no ${selector}`)
  return /** @type {any} */ (found)
}

/** @type {<E extends Element = HTMLElement>(selector: string, from?: ParentNode) => E[]} */
const all = (selector, from = document) => /** @type {any} */ ([...from.querySelectorAll(selector)])

/** @type {HTMLInputElement} */
const key = one('#key')
/** @type {HTMLInputElement} */
const filter = one('#filter')

key.value = sessionStorage.getItem('key') ?? ''
key.addEventListener('input', () => sessionStorage.setItem('key', key.value.trim()))
one('#forget').addEventListener('click', () => {
  sessionStorage.removeItem('key')
  key.value = ''
})
one('#authorization').addEventListener('submit', (event) => event.preventDefault())

/** What the filter hides, with the words that it finds: titles, paths, fields, error codes and synonyms. */
const entries = all('.topic, .operation, .object, #error-codes tr').map((element) => {
  const found = all('summary, h3, :not(pre) > code', element).map(({ textContent }) => textContent)
  return { element, text: [element.id, element.dataset.words, ...found].join(' ').toLowerCase() }
})

filter.addEventListener('input', applyFilter)
// Browsers restore the text when the page is reloaded.
applyFilter()

/** Shows only entries with all words of the filter. */
function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/)
  for (const { element, text } of entries) {
    element.hidden = !words.every((word) => text.includes(word))
    const item = document.querySelector(`.contents a[href="#${element.id}"]`)?.parentElement
    if (item) item.hidden = element.hidden
  }
  for (const section of all('main section:not(.topic)')) {
    section.hidden = !entries.some(({ element }) => section.contains(element) && !element.hidden)
  }
  for (const list of all('.contents ul')) {
    const isEmpty = all('li:not([hidden])', list).length === 0
    list.hidden = isEmpty
    if (list.previousElementSibling instanceof HTMLElement) list.previousElementSibling.hidden = isEmpty
  }
  one('#no-match').textContent = entries.every(({ element }) => element.hidden) ? 'Nothing matches.' : ''
}

/** Opens the section that the fragment of the URL names, and closes the menu of phones. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target?.closest('[hidden]')) {
    filter.value = ''
    applyFilter()
  }
  const closed = target?.closest('details')
  if (closed) closed.open = true
  one('#more').hidePopover()
  target?.scrollIntoView()
}
addEventListener('hashchange', openTarget)
if (location.hash !== '') openTarget()

for (const code of all('#guide pre code')) {
  code.textContent = code.textContent.replaceAll('https://links.example.com', location.origin)
}

for (const operation of all('.operation')) {
  operation.addEventListener('toggle', () => {
    if (/** @type {HTMLDetailsElement} */ (operation).open) history.replaceState(null, '', `#${operation.id}`)
  })
}

for (const form of /** @type {HTMLFormElement[]} */ (all('form.try'))) {
  showExamples(form)
  form.addEventListener('input', () => showExamples(form))
  form.querySelector('select.type')?.addEventListener('change', () => {
    convertBody(form)
    showExamples(form)
  })
  const copy = one('.copy', form)
  // Over plain HTTP, only pages from localhost have a clipboard.
  copy.hidden = navigator.clipboard === undefined
  copy.addEventListener('click', async () => {
    const shown = all('pre[data-language]', form).find((example) => example.checkVisibility())
    await navigator.clipboard.writeText(shown?.textContent ?? '')
    copy.textContent = 'Copied'
    setTimeout(() => {
      copy.textContent = 'Copy'
    }, 2_000)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void send(form)
  })
}

// A choice applies to the whole page.
document.addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.type !== 'radio') return
  for (const input of /** @type {HTMLInputElement[]} */ (all(`[type="radio"][value="${target.value}"]`))) {
    input.checked = true
  }
})

/** @param {HTMLFormElement} form */
function showExamples(form) {
  const request = requestOf(form)
  for (const [language] of languages) {
    one(`[data-language="${language}"] code`, form).textContent = exampleIn(language, request)
  }
}

/** @type {(form: HTMLFormElement) => import('./examples.js').ApiRequest} */
function requestOf(form) {
  let path = form.dataset.path ?? ''
  const query = new URLSearchParams()
  /** @type {Record<string, string>} */
  const headers = {}
  for (const input of /** @type {HTMLInputElement[]} */ (all('[data-in]', form))) {
    const { name, value } = input
    if (input.dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (value !== '' && input.dataset.in === 'query') query.set(name, value)
    else if (value !== '') headers[name] = value
  }
  const method = form.dataset.method ?? ''
  const url = `${location.origin}${path}${query.size > 0 ? `?${query}` : ''}`
  return { method, url, headers, needsKey: form.dataset.key === 'needed', ...bodyOf(form) }
}

/** @type {(form: HTMLFormElement) => { type?: string, text?: string }} */
function bodyOf(form) {
  /** @type {HTMLSelectElement | null} */
  const type = form.querySelector('select.type')
  return type === null ? {} : { type: type.value, text: bodyText(form).value }
}

/** @type {(form: HTMLFormElement) => HTMLTextAreaElement} */
function bodyText(form) {
  return one('textarea.body', form)
}

/** Converts the body to the selected media type. Malformed JSON is not changed. @param {HTMLFormElement} form */
function convertBody(form) {
  const area = bodyText(form)
  if (bodyOf(form).type === 'application/json') {
    area.value = JSON.stringify(Object.fromEntries(formFields(area.value)), null, 2)
    return
  }
  try {
    const fields = Object.entries(JSON.parse(area.value))
    area.value = fields.map(([name, value]) => `${name}=${value ?? ''}`).join('\n')
  } catch {}
}

/** Sends the request and shows the response. @param {HTMLFormElement} form */
async function send(form) {
  const { method, url, headers, needsKey, type, text = '' } = requestOf(form)
  const output = one('.response', form)
  output.textContent = 'Sending…'
  const begun = performance.now()
  try {
    if (needsKey && key.value.trim() !== '') headers.Authorization = `Bearer ${key.value.trim()}`
    if (type !== undefined) headers['Content-Type'] = type
    const body = type === 'application/json' ? text : String(new URLSearchParams(formFields(text)))
    const response = await fetch(url, { method, headers, cache: 'no-store', ...(type === undefined ? {} : { body }) })
    const shown = await shownOf(response)
    const took = Math.round(performance.now() - begun)
    const summary = `${response.status} ${response.statusText} · ${took} ms`
    const headerLines = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    const details = element('details', element('summary', 'Headers'), element('pre', headerLines))
    output.replaceChildren(element('p', element('strong', summary)), details, shown)
  } catch (error) {
    const reason = `The request could not be sent. ${/** @type {Error} */ (error).message}`
    output.replaceChildren(element('p', element('strong', reason)))
  }
}

/** Returns an image, or the text of the body. @param {Response} response */
async function shownOf(response) {
  const type = response.headers.get('content-type') ?? ''
  if (!response.ok || !type.startsWith('image/')) return element('pre', pretty(await response.text()))
  const picture = document.createElement('img')
  picture.src = URL.createObjectURL(await response.blob())
  picture.alt = `The response, ${type}`
  return picture
}

/** @type {(text: string) => string} */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** @type {(name: string, ...children: (Node | string)[]) => HTMLElement} */
function element(name, ...children) {
  const created = document.createElement(name)
  created.append(...children)
  return created
}
