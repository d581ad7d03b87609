/** Output for people at a terminal and for programs. */
import { createInterface } from 'node:readline'
import type { Stream, Writable } from 'node:stream'
import { noAppLinks } from '../names/app-links.ts'
import type { Warning } from '../warnings.ts'
import { WrongUse } from './arguments.ts'
import type { Terminal } from './command.ts'

export function json(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, 2).replace(obeyed, escaped)
}

/** Characters that terminals obey, except line feeds, and overrides of the text direction. */
const obeyed = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/gu

/** Replaces characters of a file or a record that would control the terminal, or hide its text. */
export function printable(text: string): string {
  return text.replace(obeyed, '\ufffd')
}

export function table(given: readonly (readonly string[])[]): string {
  const lines = given.map((line) => line.map(printable))
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => countCharacters(line[column] ?? ''))),
  )
  const pad = (text: string, column: number) => text + ' '.repeat((widths[column] ?? 0) - countCharacters(text))
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n')
}

/** Returns a table of the records, without the times of their changes and files. An empty table has the columns `none`. */
export function recordTable(records: readonly object[], none: readonly string[] = ['id', 'name']): string {
  const columns = (records.length === 0 ? none : Object.keys(records[0] as object)).filter(
    (name) => !name.endsWith('ed_at') && !(name in noAppLinks),
  )
  const lines = records.map((record) => {
    const values: Readonly<Record<string, unknown>> = { ...record }
    return columns.map((name) => String(values[name] ?? '-'))
  })
  return table([columns.map((name) => name.toUpperCase().replaceAll('_', ' ')), ...lines])
}

/** The first records of a list, and the number of all. */
export interface Listed<T> {
  readonly rows: readonly T[]
  readonly total: number
  readonly totalIsExact: boolean
}

/** Writes to stderr how many records a list leaves out. */
export function writeRest(err: Writable, { rows, total, totalIsExact }: Listed<unknown>, name: string): void {
  const all = totalIsExact ? total : `more than ${total}`
  if (total > rows.length) err.write(`Showing ${rows.length} of ${all} ${name}. Raise --limit, or add a filter.\n`)
}

/** Writes warnings about the values that a command has stored to stderr. */
export function writeWarnings({ err }: Terminal, warnings: readonly Warning[]): void {
  for (const { message } of warnings) err.write(`${message}\n`)
}

/** Returns at most 40 characters of a text for a table. */
export function shorten(text: string): string {
  const characters = [...text]
  return characters.length <= 40 ? text : `${characters.slice(0, 39).join('')}…`
}

function countCharacters(text: string): number {
  return [...text].length
}

/** Asks for confirmation, unless `yes`. Returns true only for "y" or "yes". Throws `WrongUse` without a terminal. */
export async function isConfirmed(text: string, yes: boolean, { input: open, err }: Terminal): Promise<boolean> {
  if (yes) return true
  const question = printable(text)
  const input = open()
  if (!isTerminal(input)) {
    throw new WrongUse(`${question}\nCan't ask without a terminal. Add --yes to confirm.`)
  }
  const lines = createInterface({ input })
  err.write(`${question} [y/N] `)
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line)
    err.write('\n')
    return false
  } finally {
    lines.close()
  }
}

export function isTerminal(stream: Stream): boolean {
  return 'isTTY' in stream && stream.isTTY === true
}

export interface Progress {
  /** Shows the line unless the previous one is recent. */
  show(line: () => string): void
  /** Removes the line on a terminal. Call this before writing anything else. */
  clear(): void
}

/** Shows the progress of `work`: on a terminal in one line that is overwritten, otherwise in a line every 5 seconds. */
export async function withProgress<T>(out: Writable, work: (progress: Progress) => Promise<T>): Promise<T> {
  const overwrites = isTerminal(out)
  const pauseMs = overwrites ? 100 : 5_000
  let shownAt = overwrites ? Number.NEGATIVE_INFINITY : performance.now()
  let hasOpenLine = false
  const show = (line: () => string) => {
    const now = performance.now()
    if (now - shownAt < pauseMs) return
    shownAt = now
    hasOpenLine = overwrites
    out.write(overwrites ? `\r\u001b[K${line()}` : `${line()}\n`)
  }
  const clear = () => {
    if (hasOpenLine) out.write('\r\u001b[K')
    hasOpenLine = false
  }
  try {
    return await work({ show, clear })
  } finally {
    clear()
  }
}
