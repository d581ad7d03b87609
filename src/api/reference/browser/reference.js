/**
 * What the reference does in the browser: filters operations, keeps the key for the tab, and sends requests.
 */

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
// A browser may have kept the text from before the page was loaded again.
applyFilter()

/** Hides the operations that lack one of the words. */
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

/** Opens what the address names, which may be inside something closed. */
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
  // Browsers offer no clipboard to pages that came over plain HTTP, except from localhost.
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

/**
 * The request that the form describes.
 * @param {HTMLFormElement} form
 */
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

/**
 * Its type, and its text as it is typed; a form has a field in each line.
 * @param {HTMLFormElement} form
 */
function bodyOf(form) {
  /** @type {HTMLSelectElement | null} */
  const type = form.querySelector('select.type')
  return type === null ? {} : { type: type.value, text: bodyText(form).value }
}

/** @type {(form: HTMLFormElement) => HTMLTextAreaElement} */
function bodyText(form) {
  return one('textarea.body', form)
}

/** @type {(text: string) => [string, string][]} */
function fieldsOf(text) {
  return text.split('\n').flatMap((line) => {
    const at = line.indexOf('=')
    return line.trim() === '' ? [] : [at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1)]]
  })
}

/** Writes the body in the other type; text that is not JSON stays as it is. @param {HTMLFormElement} form */
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

/**
 * The request as a command for a shell; the key stands there by name.
 * @param {ReturnType<typeof requestOf>} request
 */
function curlOf({ method, url, headers, needsKey, type, text = '' }) {
  const quoted = (/** @type {string} */ word) => `'${word.replaceAll("'", "'\\''")}'`
  const parts = [`curl -X ${method} ${quoted(url)}`]
  if (needsKey) parts.push('-H "Authorization: Bearer $KEY"')
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (type === 'application/json') parts.push(`-H 'Content-Type: ${type}'`, `-d ${quoted(text)}`)
  else for (const [name, value] of fieldsOf(text)) parts.push(`--data-urlencode ${quoted(`${name}=${value}`)}`)
  return parts.join(' \\\n  ')
}

/** Sends the request, and shows the answer. @param {HTMLFormElement} form */
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
    output.replaceChildren(paragraph(summary), headersOf(response), shown)
  } catch (error) {
    output.replaceChildren(paragraph(`The request could not be sent. ${/** @type {Error} */ (error).message}`))
  }
}

/** The body of an answer: a picture, or text. @param {Response} response */
async function shownOf(response) {
  const type = response.headers.get('content-type') ?? ''
  if (!response.ok || !type.startsWith('image/')) return preformatted(pretty(await response.text()))
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

/** @param {Response} response */
function headersOf({ headers }) {
  const details = document.createElement('details')
  const summary = document.createElement('summary')
  summary.textContent = 'Headers'
  details.append(summary, preformatted([...headers].map(([name, value]) => `${name}: ${value}`).join('\n')))
  return details
}

/** @param {string} text */
function paragraph(text) {
  const element = document.createElement('p')
  const strong = document.createElement('strong')
  strong.textContent = text
  element.append(strong)
  return element
}

/** @param {string} text */
function preformatted(text) {
  const element = document.createElement('pre')
  element.textContent = text
  return element
}
