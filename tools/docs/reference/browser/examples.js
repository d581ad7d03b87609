/** Formats requests as source code. The server and the page use this module. */

/**
 * @typedef {object} ApiRequest
 * @property {string} method
 * @property {string} url
 * @property {Record<string, string>} headers
 * @property {boolean} needsKey Whether the request sends the API key, which the code reads from the variable KEY.
 * @property {string} [type] The media type of the body.
 * @property {string} [text] The body: JSON, or a form with one field per line.
 */

/** @typedef {'curl' | 'javascript' | 'python'} Language */

/** @type {readonly (readonly [Language, string])[]} */
export const languages = [
  ['curl', 'curl'],
  ['javascript', 'JavaScript'],
  ['python', 'Python'],
]

const json = 'application/json'

/** Returns the code that sends the request and prints the response. @type {(language: Language, request: ApiRequest) => string} */
export function exampleIn(language, request) {
  return { curl: curlOf, javascript: javascriptOf, python: pythonOf }[language](request)
}

/** Parses a form with one field per line. @type {(text: string) => [string, string][]} */
export function formFields(text) {
  return text.split('\n').flatMap((line) => {
    const at = line.indexOf('=')
    return line.trim() === '' ? [] : [at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1)]]
  })
}

/** @param {ApiRequest} request */
function curlOf({ method, url, headers, needsKey, type, text = '' }) {
  const quoted = (/** @type {string} */ word) => `'${word.replaceAll("'", "'\\''")}'`
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`]
  if (needsKey) parts.push('-H "Authorization: Bearer $KEY"')
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (type === json) parts.push(`-H 'Content-Type: ${json}'`, `-d ${quoted(text)}`)
  else for (const [name, value] of formFields(text)) parts.push(`--data-urlencode ${quoted(`${name}=${value}`)}`)
  return parts.join(' \\\n  ')
}

/** @param {ApiRequest} request */
function javascriptOf({ method, url, headers, needsKey, type, text = '' }) {
  const fields = Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  if (needsKey) fields.unshift(`Authorization: \`Bearer \${process.env.KEY}\``)
  if (type === json) fields.push(`"Content-Type": "${json}"`)
  const parts = [`method: "${method}"`]
  if (fields.length > 0) parts.push(`headers: {\n    ${fields.join(',\n    ')},\n  }`)
  if (type === json) {
    const value = parsedJson(text)
    parts.push(`body: ${value === undefined ? JSON.stringify(text) : `JSON.stringify(${indented(value, 2)})`}`)
  } else if (type !== undefined) {
    parts.push(`body: new URLSearchParams(${indented(Object.fromEntries(formFields(text)), 2)})`)
  }
  return `const response = await fetch(${JSON.stringify(url)}, {\n  ${parts.join(',\n  ')},\n})
console.log(response.status, await response.text())`
}

/** @param {ApiRequest} request */
function pythonOf({ method, url, headers, needsKey, type, text = '' }) {
  const fields = Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  if (needsKey) fields.unshift(`"Authorization": f"Bearer {os.environ['KEY']}"`)
  const value = type === json ? parsedJson(text) : undefined
  if (type === json && value === undefined) fields.push(`"Content-Type": "${json}"`)
  const parts = [JSON.stringify(url)]
  if (fields.length > 0) parts.push(`headers={${fields.join(', ')}}`)
  if (value !== undefined) parts.push(`json=${pythonLiteral(indented(value, 4))}`)
  else if (type === json) parts.push(`data=${JSON.stringify(text)}`)
  else if (type !== undefined) parts.push(`data=${indented(Object.fromEntries(formFields(text)), 4)}`)
  return `import os\n\nimport requests\n\nresponse = requests.${method.toLowerCase()}(
    ${parts.join(',\n    ')},\n)\nprint(response.status_code, response.text)`
}

/** Returns the value of the JSON, or undefined if it is malformed. @type {(text: string) => unknown} */
function parsedJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @type {(value: unknown, spaces: number) => string} */
function indented(value, spaces) {
  return JSON.stringify(value, null, spaces).replaceAll('\n', `\n${' '.repeat(spaces)}`)
}

/** @type {(text: string) => string} */
function pythonLiteral(text) {
  /** @type {Readonly<Record<string, string>>} */
  const words = { true: 'True', false: 'False', null: 'None' }
  return text.replace(/"(?:[^"\\]|\\.)*"|true|false|null/g, (token) => words[token] ?? token)
}
