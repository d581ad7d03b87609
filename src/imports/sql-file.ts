/** Rows of SQL dumps. Only `INSERT` and `CREATE TABLE` statements are read, and nothing is executed. */
import { validationFailed } from '../errors.ts'
import { Refusal } from '../violations.ts'
import { malformed, Position } from './text.ts'

export interface SqlRow {
  readonly table: string
  readonly columns: readonly string[]
  /** Null for NULL. Numbers are texts. */
  readonly values: readonly (string | null)[]
  /** The line on which the row starts, from 1. */
  readonly line: number
}

/** More than any row has, and any quote or comment elsewhere. Bounds the memory for a quote that is never closed. */
const [maxRowLength, maxStatementLength] = [1024 * 1024, 4 * 1024 * 1024]

/** Names of tables and columns that stay in memory. More than any dump has. */
const maxNames = 100_000

const word = String.raw`[\p{L}\p{N}_$.+-]+`

/**
 * Tokens and blanks of MySQL, with escapes in strings; and of PostgreSQL and SQLite, where only `E'…'` has them. The second group opens
 * a token or a comment, whose end `endAfter` finds: a pattern would need memory for each quote in a string.
 */
const tokens = {
  mysql: new RegExp(String.raw`(\s+|(?:--|#)[^\n]*(?:\n|$))|(/\*|['"${'`'}])|${word}|[^]`, 'uy'),
  standard: new RegExp(
    String.raw`(\s+|--[^\n]*(?:\n|$))|(/\*|[eE]?'|["${'`'}]|\$\w*(?:\$|$))|${word.replace('$', '')}|[^]`,
    'uy',
  ),
}

/** Returns the end of what an opening at this offset begins; -1 if it is missing. */
function endAfter(text: string, at: number, opening: string, dialect: keyof typeof tokens): number {
  const from = at + opening.length
  const quote = opening.charAt(opening.length - 1)
  if (opening === '/*' || opening.startsWith('$')) {
    const close = opening === '/*' ? '*/' : opening
    const found = text.indexOf(close, from)
    return found < 0 ? -1 : found + close.length
  }
  const escapes = quote === "'" && (dialect === 'mysql' || opening.length > 1)
  return endOfQuote(text, from, quote, escapes ? /['\\]/g : new RegExp(quote, 'g'))
}

/** Returns the end of a string or name, in which `marks` finds quotes and backslashes. Both escape the next character. */
function endOfQuote(text: string, from: number, quote: string, marks: RegExp): number {
  marks.lastIndex = from
  while (marks.test(text)) {
    const next = marks.lastIndex
    if (text.charAt(next - 1) === quote && text.charAt(next) !== quote) return next
    marks.lastIndex = next + 1
  }
  return -1
}

/** What only dumps of PostgreSQL and SQLite have. */
const standardMark = /PostgreSQL|^PRAGMA$|standard_conforming_strings/
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', 0: '\0', Z: '\u001a' }

const tooManyNames = 'the file names more than 100,000 tables and columns, but Waymark needs only the tables with links'
const tooLong = 'the row is longer than 1 MiB, maybe because a quote is not closed'

/** Thrown if the rest of a row is in the next part of the file. */
const incomplete = Symbol('incomplete')

/** Yields the rows of all tables, in batches. Throws `malformed_body`, and `validation_failed` on `source` for `COPY` statements. */
export async function* readSql(text: AsyncIterable<string>): AsyncGenerator<SqlRow[]> {
  const parser = new SqlParser()
  for await (const part of text) yield parser.rows(part, false)
  yield parser.rows('', true)
}

type Table = Pick<SqlRow, 'table' | 'columns'>

class SqlParser {
  #text = ''
  #at = 0
  /** The start of the last token. */
  #last = 0
  /** The start of the row that is being read. */
  #row: number | null = null
  #isEnd = false
  /** The length with which the next attempt is worth it: repeated ones would take quadratic time. */
  #worthwhile = 0
  #dialect: keyof typeof tokens = 'mysql'
  /** The table of the `INSERT` statement, or what else is being read. */
  #state: Table | 'statement' | 'rest' = 'statement'
  readonly #columns = new Map<string, readonly string[]>()
  /** By name and columns: each of many statements has its own list. */
  readonly #tables = new Map<string, Table>()
  #names = 0
  /** Of the text before `#counted`. */
  readonly #position = new Position()
  #counted = 0

  /** Returns the rows that end in a part. */
  rows(part: string, isEnd: boolean): SqlRow[] {
    this.#locate(this.#at)
    this.#text = this.#text.slice(this.#at) + part
    this.#at = 0
    this.#counted = 0
    this.#isEnd = isEnd
    const rows: SqlRow[] = []
    if (!isEnd && this.#text.length < this.#worthwhile) return rows
    for (;;) {
      const start = this.#at
      try {
        const row = this.#step()
        if (row === null) return rows
        if (row !== undefined) rows.push(row)
      } catch (error) {
        if (error !== incomplete) throw error
        this.#waitFrom(start)
        return rows
      }
    }
  }

  /** Leaves the text from an offset on for the next attempt. Throws if it is too long. */
  #waitFrom(start: number): void {
    const length = this.#text.length - start
    if (this.#row !== null && length > maxRowLength) this.#fail(tooLong, this.#row)
    if (length > maxStatementLength) this.#fail('a quote or a comment does not end')
    this.#at = start
    this.#worthwhile = 2 * length
  }

  /** Reads a row, the start of a statement, or a token of a statement that nobody needs. Returns null at the end. */
  #step(): SqlRow | null | undefined {
    this.#row = null
    if (typeof this.#state === 'object') return this.#readRow(this.#state)
    const token = this.#next()
    if (token === '') {
      if (this.#state === 'rest' && !this.#isEnd) throw incomplete
      return null
    }
    if (standardMark.test(token)) this.#dialect = 'standard'
    if (token === ';') this.#state = 'statement'
    else if (this.#state === 'statement') this.#state = this.#statement(token.toUpperCase())
    return undefined
  }

  #statement(command: string): Table | 'rest' {
    if (command === 'COPY') throw validationFailed([new Refusal('unknown_format.copy').at('source')])
    if (command === 'CREATE') return this.#createTable()
    return command === 'INSERT' || command === 'REPLACE' ? this.#insert() : 'rest'
  }

  #createTable(): 'rest' {
    for (let token = this.#next(); token.toUpperCase() !== 'TABLE'; token = this.#next()) {
      if (!/^(?:TEMPORARY|TEMP|UNLOGGED|GLOBAL|LOCAL)$/i.test(token)) return this.#back()
    }
    let name = this.#next()
    while (/^(?:IF|NOT|EXISTS)$/i.test(name)) name = this.#next()
    name = this.#qualified(name)
    if (this.#next() !== '(') return this.#back()
    const columns: string[] = []
    for (let [depth, isFirst] = [1, true]; depth > 0; ) {
      const token = this.#next()
      if (token === '') this.#fail('the statement ends too early')
      if (isFirst && !notColumns.test(token)) this.#addName(columns, token)
      isFirst = depth === 1 && token === ','
      depth += changeDepth(token)
    }
    this.#keepNames(columns)
    this.#columns.set(name, columns)
    return 'rest'
  }

  /** Reads `INTO table (columns) VALUES`. */
  #insert(): Table | 'rest' {
    let token = this.#next()
    while (/^(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE|OR|REPLACE|INTO)$/i.test(token)) token = this.#next()
    if (token.startsWith('"') || /^public\./i.test(token)) this.#dialect = 'standard'
    const table = this.#qualified(token)
    let columns: string[] | null = null
    for (token = this.#next(); !/^VALUES$/i.test(token); token = this.#next()) {
      if (token === '' || token === ';' || /^(?:SELECT|SET|DEFAULT)$/i.test(token)) return this.#back()
      if (token === '(') columns = this.#readNames()
    }
    const known = columns ?? this.#columns.get(table)
    if (known === undefined) throw validationFailed([new Refusal('unknown_format.names').at('source')])
    return this.#tables.getOrInsertComputed(`${table} ${known.join()}`, () => {
      this.#keepNames(known)
      return { table, columns: known }
    })
  }

  #readNames(): string[] {
    const names: string[] = []
    for (let token = this.#next(); token !== ')'; token = this.#next()) {
      if (token === '') this.#fail('the statement ends too early')
      if (token !== ',') this.#addName(names, token)
    }
    return names
  }

  #addName(names: string[], token: string): void {
    if (names.push(unquoted(token)) > maxNames) this.#fail(tooManyNames)
  }

  /** Counts a table and its columns. Throws if the file names too many. */
  #keepNames({ length }: readonly string[]): void {
    this.#names += length + 1
    if (this.#names > maxNames) this.#fail(tooManyNames)
  }

  /** Reads the last part of a name such as `public.links`. */
  #qualified(token: string): string {
    let name = token
    for (;;) {
      const at = this.#at
      const more = this.#next()
      if (more.startsWith('.') || name.endsWith('.')) {
        name = more === '.' ? this.#next() : more.replace(/^\./, '')
        continue
      }
      this.#at = at
      return unquoted(name).split('.').at(-1) ?? ''
    }
  }

  #readRow({ table, columns }: Table): SqlRow | undefined {
    const open = this.#next()
    if (open === ',') return undefined
    if (open !== '(') {
      if (open === '') this.#fail('the statement ends too early')
      this.#state = open === ';' ? 'statement' : 'rest'
      return undefined
    }
    const start = this.#last
    this.#row = start
    const values: (string | null)[] = []
    while (this.#value(values));
    if (this.#at - start > maxRowLength) this.#fail(tooLong, start)
    if (values.length !== columns.length) {
      this.#fail(`the row has ${values.length} values for ${columns.length} columns`, start)
    }
    return { table, columns, values, line: this.#locate(start).line }
  }

  /** Adds a value. Returns false after the last one. */
  #value(values: (string | null)[]): boolean {
    const parts: string[] = []
    let token = this.#next()
    for (let depth = 0; depth > 0 || (token !== ',' && token !== ')'); token = this.#next()) {
      if (token === '' || token === ';') this.#fail('the row is not complete')
      depth += changeDepth(token)
      parts.push(token)
    }
    // Of an expression, only the first string or word counts: `'[]'::jsonb`.
    const text = parts.find(isText)
    const [first = 'NULL'] = parts
    values.push(text === undefined ? (/^null$/i.test(first) ? null : first) : this.#unescape(text))
    return token === ','
  }

  #unescape(token: string): string {
    const start = token.search(/['"]/)
    const quote = token.charAt(start)
    const text = token.slice(start + 1, -1)
    const whole = text.includes(quote) ? text.replaceAll(quote + quote, quote) : text
    if ((this.#dialect === 'standard' && start === 0) || !text.includes('\\')) return whole
    // `\'` has one quote, so that the pairs above are not next to a backslash that escapes the first of them.
    return text.replace(/\\([\s\S])|''/g, (pair, escaping: string | undefined) => {
      if (escaping === undefined) return pair.charAt(0)
      return escapes[escaping] ?? (/[%_]/.test(escaping) ? pair : escaping)
    })
  }

  /** Makes the last token the next one. */
  #back(): 'rest' {
    this.#at = this.#last
    return 'rest'
  }

  /** Returns the next token, '' at the end. */
  #next(): string {
    for (;;) {
      const { token, isBlank } = this.#read()
      if (!isBlank) return token
      if (token.length > 20 && standardMark.test(token)) this.#dialect = 'standard'
    }
  }

  /** Reads a token, or blanks or a comment. */
  #read(): { readonly token: string; readonly isBlank: boolean } {
    const [pattern, at] = [tokens[this.#dialect], this.#at]
    pattern.lastIndex = at
    const [whole = '', blank, opening] = pattern.exec(this.#text) ?? []
    const end = opening === undefined ? at + whole.length : endAfter(this.#text, at, opening, this.#dialect)
    this.#last = at
    if (!this.#isEnd && (end < 0 || end >= this.#text.length)) throw incomplete
    if (end < 0) this.#fail('a quote or a comment is never closed')
    this.#at = end
    return { token: this.#text.slice(at, end), isBlank: blank !== undefined || opening === '/*' }
  }

  /** Returns the position of an offset in the text, which may not be before that of the last call. */
  #locate(offset: number): Position {
    this.#position.passed(this.#text.slice(this.#counted, offset))
    this.#counted = Math.max(this.#counted, offset)
    return this.#position
  }

  #fail(problem: string, offset = this.#last): never {
    throw malformed(this.#locate(offset), problem, 'Create the dump again.')
  }
}

/** How other parts of a `CREATE TABLE` statement start. */
const notColumns = /^(?:PRIMARY|KEY|UNIQUE|INDEX|CONSTRAINT|FOREIGN|CHECK|FULLTEXT|SPATIAL|EXCLUDE|LIKE)$/i

function changeDepth(token: string): number {
  return token === '(' ? 1 : token === ')' ? -1 : 0
}

function isText(token: string): boolean {
  const last = token.charAt(token.length - 1)
  return last === "'" || last === '"'
}

function unquoted(token: string): string {
  const quote = token.charAt(0)
  return quote === '"' || quote === '`' ? token.slice(1, -1).replaceAll(quote + quote, quote) : token
}
