/** Reads rows of CSV text (RFC 4180) that arrives in parts. */
import { withoutApostrophe } from './csv.ts'

export interface CsvRow {
  /** The line on which the row starts, from 1. */
  readonly line: number
  /** Without the apostrophes that `csvRow` puts before formulas. A blank line has one empty cell. */
  readonly cells: readonly string[]
}

export interface CsvOptions {
  /** A comma by default; null if each line is one cell. */
  readonly separator?: ',' | ';' | '\t' | null
  /** Whether a cell that starts with a quote, but has text after its closing quote, is read as it is written. */
  readonly keepsStrayQuotes?: boolean
  /** In characters. */
  readonly maxRowLength?: number
  readonly maxCells?: number
  /** The number of the first line. */
  readonly line?: number
}

/** Why a row can't be read. Rows, cells and lines count from 1. */
export class CsvError extends Error {
  readonly problem: 'never closed' | 'text after quote' | 'too many quotes' | 'too many cells' | 'too long'
  readonly row: number
  readonly cell: number
  /** The line on which the row starts. */
  readonly line: number
  /** The lines of the opening and the closing quote. */
  readonly quoteLines: readonly [opening: number, closing: number]

  constructor(problem: CsvError['problem'], at: Pick<CsvError, 'row' | 'cell' | 'line' | 'quoteLines'>) {
    super(problem)
    this.problem = problem
    this.row = at.row
    this.cell = at.cell
    this.line = at.line
    this.quoteLines = at.quoteLines
  }
}

/** More quotes than any valid cell has: finding and replacing half a million takes 90 ms. */
export const maxQuotes = 10_000

/** LF, CR and CR LF end a line. A quote is special only at the start of a cell. There, two quotes stand for one. */
export class CsvReader {
  readonly #options: CsvOptions
  readonly #quoted: RegExp | null
  readonly #plain: RegExp
  /** Starts with the next cell. */
  #text = ''
  #cells: string[] = []
  #row = 1
  #rowLine: number
  #rowLength = 0
  #line: number

  constructor(options: CsvOptions = {}) {
    const { separator = ',', line = 1 } = options
    this.#options = options
    const plain = `[^${separator ?? ''}\\r\\n]*`
    const end = `(\\r\\n|\\r|\\n|$${separator === null ? '' : `|${separator}`})`
    this.#quoted = separator === null ? null : new RegExp(`(?:"(${quotedText})"|((?!")${plain}))${end}`, 'y')
    this.#plain = new RegExp(`()(${plain})${end}`, 'y')
    this.#rowLine = line
    this.#line = line
  }

  /** Yields the rows that end in a part of the text. Throws a `CsvError`. */
  *read(part: string, isEnd: boolean): Generator<CsvRow> {
    this.#text += part
    let at = 0
    while (at < this.#text.length || (isEnd && this.#cells.length > 0)) {
      const match = this.#match(at, isEnd)
      if (match === null) break
      const [whole, quoted, plain, end] = match
      at += whole.length
      this.#rowLength += whole.length
      this.#cells.push(withoutApostrophe(quoted ? quoted.replaceAll('""', '"') : (plain ?? quoted ?? '')))
      if (this.#cells.length > (this.#options.maxCells ?? Number.POSITIVE_INFINITY)) this.#fail('too many cells', at)
      this.#line += countBreaks(whole)
      if (end === (this.#options.separator ?? ',')) continue
      yield { line: this.#rowLine, cells: this.#cells }
      this.#cells = []
      this.#row += 1
      this.#rowLine = this.#line
      this.#rowLength = 0
    }
    this.#text = this.#text.slice(at)
    const { maxRowLength = Number.POSITIVE_INFINITY } = this.#options
    if (this.#rowLength + this.#text.length > maxRowLength) this.#fail('too long', 0)
  }

  /** Returns the cell at an offset; null if the rest of it may follow. */
  #match(at: number, isEnd: boolean): RegExpExecArray | null {
    const pattern = this.#quoted ?? this.#plain
    pattern.lastIndex = at
    const match = pattern.exec(this.#text) ?? this.#matchStrayQuote(at, isEnd)
    if (match === null || isEnd) return match
    const isWhole = at + match[0].length < this.#text.length || match[3] === (this.#options.separator ?? ',')
    return isWhole || match[3] === '\n' ? match : null
  }

  #matchStrayQuote(at: number, isEnd: boolean): RegExpExecArray | null {
    beforeClosingQuote.lastIndex = at
    const end = at + (beforeClosingQuote.exec(this.#text)?.[0].length ?? 0)
    if (end === this.#text.length) return isEnd ? this.#fail('never closed', at, end) : null
    if (this.#text[end + 1] === '"') return this.#fail('too many quotes', at, end)
    if (!this.#options.keepsStrayQuotes) return this.#fail('text after quote', at, end)
    this.#plain.lastIndex = at
    return this.#plain.exec(this.#text)
  }

  #fail(problem: CsvError['problem'], at: number, end = at): never {
    const closing = this.#line + countBreaks(this.#text.slice(at, end))
    const cell = problem === 'too many cells' ? 1 : this.#cells.length + 1
    throw new CsvError(problem, { row: this.#row, cell, line: this.#rowLine, quoteLines: [this.#line, closing] })
  }
}

const quotedText = `[^"]*(?:""[^"]*){0,${maxQuotes}}`
const beforeClosingQuote = new RegExp(`"${quotedText}`, 'y')

function countBreaks(text: string): number {
  return /[\r\n]/.test(text) ? text.split(/\r\n|\r|\n/).length - 1 : 0
}
