/**
 * Where raw clicks go.
 */
import type { SinkConfig, SinkTarget } from '../clicks/sink/open.ts'
import type { StorageLocation } from '../storage/location.ts'
import { brokenEncoding, integerFrom, type Read } from './read.ts'

/** Reads where raw clicks go, and where they wait; null if they go nowhere. The processes share the room of the spool. */
export function readSink(read: Read, storage: StorageLocation, workers: number): SinkConfig | null {
  const target = read('CLICKS_SINK', '', sinkTarget)
  const spool = read('CLICKS_SPOOL', '', (text) => (text === '' ? besideData(storage) : folder(text)))
  const megabytes = read('CLICKS_SPOOL_MAX', '1000', integerFrom(1, 1_000_000))
  return target && { target, spool, spoolBytes: Math.floor((megabytes * 1_000_000) / workers) }
}

/** A location that is wrong is named elsewhere. */
function besideData(storage: StorageLocation | undefined): string {
  return storage?.engine === 'sqlite' ? `${storage.path}-clicks-spool` : 'data/clicks-spool'
}

function folder(text: string): string {
  if (isPath(text)) return text
  throw new Error('must name a folder, such as /var/lib/waymark/clicks-spool.')
}

const isPath = (text: string) => text !== '' && !/\p{Cc}/u.test(text)

/** The text is never repeated: it may contain a password. */
function sinkTarget(text: string): SinkTarget | null {
  if (text === '') return null
  const [, path = ''] = /^jsonl:(.*)$/s.exec(text) ?? []
  if (isPath(path) && !/[/\\]$/.test(path)) return { kind: 'jsonl', path }
  if (/^clickhouse:/i.test(text)) return clickHouse(text)
  throw new Error(
    'must name a file, such as jsonl:/var/lib/waymark/clicks.jsonl, or a ClickHouse server, such as clickhouse://user:password@host:8123/database?table=clicks.',
  )
}

const identifier = /^[A-Za-z_]\w*$/
const parameters = new Set(['table', 'secure'])

function clickHouse(text: string): SinkTarget {
  // A "#" or a second "@" is one of the password, which is read as something else.
  const isPlain = !/[\s\p{Cc}#]|@.*@/u.test(text) && !brokenEncoding.test(text)
  const parts = isPlain ? URL.parse(text) : null
  const { table = 'clicks', secure = '0' } = Object.fromEntries(parts?.searchParams ?? [])
  const strange = [...(parts?.searchParams.keys() ?? [])].find((name) => !parameters.has(name))
  if (strange !== undefined) throw new Error(`has an unknown parameter, ${strange}.`)
  if (!/^[01]$/.test(secure)) throw new Error('has a parameter secure that is neither 0 nor 1.')
  if (!identifier.test(table)) throw new Error('has a parameter table that is not the name of a table.')
  const [scheme, port] = secure === '1' ? ['https', 8443] : ['http', 8123]
  const url = parts?.hostname ? URL.parse(`${scheme}://${parts.hostname}:${parts.port || port}`) : null
  const database = parts?.pathname.replace(/^\//, '') || 'default'
  const user = decoded(parts?.username || 'default')
  const password = decoded(parts?.password ?? '')
  if (url !== null && identifier.test(database) && user !== null && password !== null) {
    return { kind: 'clickhouse', url: url.origin, user, password, database, table }
  }
  throw new Error(
    'must name a ClickHouse server as clickhouse://user:password@host:8123/database?table=clicks; characters of the password such as "@", "/" and "%" are percent-encoded.',
  )
}

/** null if it is not UTF-8, or has control characters, which no header can carry. */
function decoded(text: string): string | null {
  try {
    const plain = decodeURIComponent(text)
    return /\p{Cc}/u.test(plain) ? null : plain
  } catch {
    return null
  }
}
