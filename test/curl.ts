/**
 * As much of curl as the README and the server's greeting use, for machines that have none. `test/path.ts` puts it first
 * in PATH. An option that it does not know ends it with exit code 2.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const
const { values, positionals, tokens } = parseArgs({
  options: {
    silent: { ...flag, short: 's' },
    head: { ...flag, short: 'I' },
    include: { ...flag, short: 'i' },
    get: { ...flag, short: 'G' },
    request: { ...text, short: 'X' },
    output: { ...text, short: 'o' },
    'write-out': { ...text, short: 'w' },
    'user-agent': { ...text, short: 'A' },
    header: { ...text, short: 'H', multiple: true },
    data: { ...text, short: 'd', multiple: true },
    'data-urlencode': { ...text, multiple: true },
  },
  allowPositionals: true,
  tokens: true,
})

/** All data, in the order in which it was given. */
const data = tokens
  .flatMap((token) => {
    if (token.kind !== 'option') return []
    if (token.name === 'data') return [token.value ?? '']
    return token.name === 'data-urlencode' ? [urlEncoded(token.value ?? '')] : []
  })
  .join('&')

const hasBody = data !== '' && !values.get
const [address = ''] = positionals
const url = data === '' || hasBody ? address : `${address}${address.includes('?') ? '&' : '?'}${data}`
const headers = new Headers(hasBody ? { 'content-type': 'application/x-www-form-urlencoded' } : {})
for (const header of values.header ?? []) {
  const colon = header.indexOf(':')
  headers.set(header.slice(0, colon), header.slice(colon + 1).trim())
}
const method = values.request ?? (values.head ? 'HEAD' : hasBody ? 'POST' : 'GET')
headers.set('user-agent', values['user-agent'] ?? 'curl/8')
const response = await fetch(url, { method, headers, redirect: 'manual', ...(hasBody ? { body: data } : {}) })
if (values.head || values.include) {
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`)
  writeFileSync(process.stdout.fd, `HTTP/1.1 ${response.status}\r\n${lines.join('')}\r\n`)
}
writeFileSync(values.output ?? process.stdout.fd, Buffer.from(await response.arrayBuffer()))
const after = values['write-out'] ?? ''
const type = response.headers.get('content-type') ?? ''
const written = {
  '%{http_code}': String(response.status),
  '%{content_type}': type,
  '%{redirect_url}': response.headers.get('location') ?? '',
}
const said = Object.entries(written).reduce((text, [name, value]) => text.replaceAll(name, value), after)
writeFileSync(process.stdout.fd, said.replaceAll('\\n', '\n'))

function urlEncoded(field: string): string {
  const equals = field.indexOf('=')
  return `${field.slice(0, equals)}=${encodeURIComponent(field.slice(equals + 1))}`
}
