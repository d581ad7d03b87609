import type { SinkTarget } from '../analytics/sink/open.ts'
import { decodePercent } from '../lib/percent-encoding.ts'
import { brokenEncoding, isPath } from './parsers.ts'

/** Parses the target of raw clicks. Errors never contain the text, which may contain a password. */
export function parseClickSink(text: string): SinkTarget {
  const [, path = ''] = /^jsonl:(.*)$/s.exec(text) ?? []
  if (isPath(path) && !/[/\\]$/.test(path)) return { kind: 'jsonl', path }
  if (/^clickhouse:/i.test(text)) return parseClickHouse(text)
  throw new Error(
    'must be a file, such as jsonl:/var/lib/waymark/clicks.jsonl, or a ClickHouse server, such as clickhouse://user:password@host:8123/database?table=clicks.',
  )
}

const identifier = /^[A-Za-z_]\w*$/
const parameters = ['table', 'secure']

function parseClickHouse(text: string): SinkTarget {
  // A "#" or a second "@" belongs to a password that is not percent-encoded.
  const isPlain = !/[\s\p{Cc}#]|@.*@/u.test(text) && !brokenEncoding.test(text)
  const parts = isPlain ? URL.parse(text) : null
  const { table = 'clicks', secure = '0' } = Object.fromEntries(parts?.searchParams ?? [])
  const unknown = [...(parts?.searchParams.keys() ?? [])].find((name) => !parameters.includes(name))
  if (unknown !== undefined) throw new Error(`has an unknown parameter: ${unknown}.`)
  if (!/^[01]$/.test(secure)) throw new Error('has an invalid parameter: secure must be 0 or 1.')
  if (!identifier.test(table)) throw new Error('has an invalid parameter: table must be a table name.')
  const [scheme, port] = secure === '1' ? ['https', 8443] : ['http', 8123]
  const url = parts?.hostname ? URL.parse(`${scheme}://${parts.hostname}:${parts.port || port}`) : null
  const database = parts?.pathname.replace(/^\//, '') || 'default'
  const user = decode(parts?.username || 'default')
  const password = decode(parts?.password ?? '')
  if (url !== null && identifier.test(database) && user !== null && password !== null) {
    return { kind: 'clickhouse', url: url.origin, user, password, database, table }
  }
  throw new Error(
    'must have the form clickhouse://user:password@host:8123/database?table=clicks. Percent-encode special characters in the password, such as "@", "/" and "%".',
  )
}

/** Returns null if the text is not UTF-8 or has control characters, which headers can't carry. */
function decode(text: string): string | null {
  const plain = decodePercent(text)
  return plain !== null && /\p{Cc}/u.test(plain) ? null : plain
}
