/** Reads files of imports from texts. */
import { Failure } from '../src/errors.ts'
import type { ClickedLink, FileClicks, FileColumn, FileRow, Source } from '../src/imports/file-row.ts'
import { type ReadingOptions, readFile } from '../src/imports/reading.ts'

export interface ReadFile {
  readonly source: Source
  readonly isCaseSensitive: boolean
  readonly columns: readonly FileColumn[]
  readonly rows: readonly FileRow[]
  readonly cells: readonly (readonly string[] | null)[]
  /** At the link addresses, as the plan stores them. */
  readonly clicks: readonly Omit<FileClicks, 'reference'>[]
}

const defaults: ReadingOptions = { source: 'auto', type: null, timeZone: null, columns: null, generateAliases: false }

/** Reads a file to its end, in chunks of some bytes. */
export async function readText(
  file: string | Uint8Array,
  options: Partial<ReadingOptions> = {},
  chunkBytes = 1000,
): Promise<ReadFile> {
  const bytes = Buffer.from(file)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
  }
  const { items, ...reading } = await readFile(chunks(), { ...defaults, ...options })
  const rows: FileRow[] = []
  const cells: (readonly string[] | null)[] = []
  const found: FileClicks[] = []
  const references = new Map<string | null, FileRow>()
  const pages = new Map<string | null, ClickedLink>()
  for await (const item of items) {
    if ('clicks' in item) found.push(item.clicks)
    else if ('page' in item) pages.set(item.page, item.link)
    else {
      rows.push(item.row)
      cells.push(item.cells)
      if (item.reference !== null) references.set(item.reference, item.row)
    }
  }
  const clicks = found.map(({ address, reference, ...facts }) => {
    const link = pages.get(reference) ?? { address, reference }
    return { address: references.get(link.reference)?.addresses[0] ?? link.address, ...facts }
  })
  return { ...reading, rows, cells, clicks }
}

/** Returns the failure of a file: the violations, or the code and the message. */
export async function failureOf(file: string | Uint8Array, options: Partial<ReadingOptions> = {}): Promise<string> {
  try {
    await readText(file, options)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const [violation] = error.facts.violations ?? []
    return violation === undefined
      ? `${error.code}: ${error.message}`
      : `${violation.field} ${violation.code}: ${violation.message}`
  }
  return 'no failure'
}
