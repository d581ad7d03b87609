/** Filters operations, stores the key until the tab is closed, and sends requests. */

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

filter.addEventListener('input', applyFilter)
// Browsers restore the text when the page is reloaded.
applyFilter()

/** Shows only operations with all words of the filter. */
function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/)
  let shown = 0
  for (const operation of all('.operation')) {
    const text = `${operation.id} ${one('summary', operation).textContent}`.toLowerCase()
    operation.hidden = !words.every((word) => text.includes(word))
    const item = one(`nav a[href="#${operation.id}"]`).parentElement
    if (item !== null) item.hidden = operation.hidden
    if (!operation.hidden) shown++
  }
  for (const tag of all('.tag')) tag.hidden = all('.operation:not([hidden])', tag).length === 0
  for (const list of all('nav ul')) {
    const isEmpty = all('li:not([hidden])', list).length === 0
    list.hidden = isEmpty
    if (list.previousElementSibling instanceof HTMLElement) list.previousElementSibling.hidden = isEmpty
  }
  one('#no-match').textContent = shown === 0 ? 'No operation matches.' : ''
}

/** Opens the section that the fragment of the URL names. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const closed = target?.closest('details')
  if (closed) closed.open = true
  target?.scrollIntoView()
}
addEventListener('hashchange', openTarget)
if (location.hash !== '') openTarget()

for (const operation of all('.operation')) {
  operation.addEventListener('toggle', () => {
    if (/** @type {HTMLDetailsElement} */ (operation).open) history.replaceState(null, '', `#${operation.id}`)
  })
}

for (const form of /** @type {HTMLFormElement[]} */ (all('form.try'))) {
  const showCurl = () => {
    one('.curl code', form).textContent = curlOf(requestOf(form))
  }
  showCurl()
  form.addEventListener('input', showCurl)
  form.querySelector('select.type')?.addEventListener('change', () => {
    convertBody(form)
    showCurl()
  })
  const copy = one('.copy', form)
  // Over plain HTTP, only pages from localhost have a clipboard.
  copy.hidden = navigator.clipboard === undefined
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(curlOf(requestOf(form)))
    copy.textContent = 'Copied'
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void send(form)
  })
}

/** @param {HTMLFormElement} form */
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

/** Parses a form with one field per line. @type {(text: string) => [string, string][]} */
function fieldsOf(text) {
  return text.split('\n').flatMap((line) => {
    const at = line.indexOf('=')
    return line.trim() === '' ? [] : [at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1)]]
  })
}

/** Converts the body to the selected media type. Malformed JSON is not changed. @param {HTMLFormElement} form */
function convertBody(form) {
  const area = bodyText(form)
  if (bodyOf(form).type === 'application/json') {
    area.value = JSON.stringify(Object.fromEntries(fieldsOf(area.value)), null, 2)
    return
  }
  try {
    const fields = Object.entries(JSON.parse(area.value))
    area.value = fields.map(([name, value]) => `${name}=${value ?? ''}`).join('\n')
  } catch {}
}

/** Returns a shell command, which reads the key from a variable. @param {ReturnType<typeof requestOf>} request */
function curlOf({ method, url, headers, needsKey, type, text = '' }) {
  const quoted = (/** @type {string} */ word) => `'${word.replaceAll("'", "'\\''")}'`
  const parts = [`curl -X ${method} ${quoted(url)}`]
  if (needsKey) parts.push('-H "Authorization: Bearer $KEY"')
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (type === 'application/json') parts.push(`-H 'Content-Type: ${type}'`, `-d ${quoted(text)}`)
  else for (const [name, value] of fieldsOf(text)) parts.push(`--data-urlencode ${quoted(`${name}=${value}`)}`)
  return parts.join(' \\\n  ')
}

/** Sends the request and shows the response. @param {HTMLFormElement} form */
async function send(form) {
  const { method, url, headers, needsKey, type, text = '' } = requestOf(form)
  const output = one('.answer', form)
  output.textContent = 'Sending…'
  const begun = performance.now()
  try {
    if (needsKey && key.value.trim() !== '') headers.Authorization = `Bearer ${key.value.trim()}`
    if (type !== undefined) headers['Content-Type'] = type
    const body = type === 'application/json' ? text : String(new URLSearchParams(fieldsOf(text)))
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
  picture.alt = `The answer, ${type}`
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
