/** The rows of files with new links, as spreadsheets write them: their encodings, separators, and lists of URLs. */
import { isUtf8 } from 'node:buffer'
import { type CsvRows, readCsv, type Separator } from '../lib/csv.ts'
import { Ticks } from '../lib/ticks.ts'
import { Refusal } from '../violations.ts'
import { storeLink } from './schema.ts'

/** Returns the text of a file, or null for a binary file. */
export function textOfFile(bytes: Buffer): string | null {
  // Excel writes UTF-16 as “Unicode text”, and the encoding of Windows as plain CSV.
  const isUtf16 = bytes.toString('latin1', 0, 2) === '\xff\xfe'
  const encoding = isUtf16 ? 'utf-16le' : isUtf8(bytes) ? 'utf-8' : 'windows-1252'
  const text = new TextDecoder(encoding).decode(bytes)
  return text.includes('\0') ? null : text
}

interface NamedRows extends CsvRows {
  /** The names of the columns. */
  readonly names: readonly string[]
}

/** Parses a table with column names in its first row, or a list of URLs. Returns a sentence for the user if that is impossible. */
export async function readRows(text: string): Promise<NamedRows | string> {
  const start = preamble.exec(text)?.[0].length ?? 0
  const list = await readList(text, start)
  if (list !== null) return { ...list, names: ['url'] }
  const separator = separatorOf(text.slice(start, start + 10_000))
  const table = await readCsv(text, { separator, start, isEmpty: isEmptyRow })
  if (typeof table === 'string') return table
  const [top, ...rows] = table.rows
  return { names: top?.cells ?? [], rows, total: Math.max(table.total - 1, 0) }
}

/** What Excel may write before the first row: a byte order mark, and the separator. */
const preamble = /^\ufeff?(?:sep=.(?:\r\n|\r|\n|$))?/i

/** Returns the lines of a list of URLs, null for other texts. If the first URL has separators, every line must be a URL. */
async function readList(text: string, start: number): Promise<CsvRows | null> {
  const list = await readCsv(text, { separator: null, start, isEmpty: isEmptyRow })
  if (typeof list === 'string') return null
  const lines = list.rows.map(({ cells }) => cells.join())
  const [first = ''] = lines
  if (!/^\s*[a-z][a-z\d+.-]*:\S+\s*$/i.test(first)) return null
  if (!/[,;\t]/.test(first)) return list
  const ticks = new Ticks()
  for (const line of lines) {
    if (storeLink.fields.url.read(line) instanceof Refusal) return null
    await ticks.next()
  }
  return list
}

function isEmptyRow(cells: readonly string[]): boolean {
  return !cells.some(isFilled)
}

/** Returns the separator that is most frequent in the first row. */
function separatorOf(text: string): Separator {
  const line = /[^\r\n]+/.exec(text)?.[0] ?? ''
  const count = (separator: Separator) => line.split(separator).length
  return ([',', ';', '\t'] as const).reduce((best, each) => (count(each) > count(best) ? each : best))
}

export function isFilled(cell: string): boolean {
  return cell.trim() !== ''
}
