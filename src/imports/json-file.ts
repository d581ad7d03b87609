/** Records of JSON files: pages, arrays of pages or records, and lines of both. */
import { Tokenizer, TokenizerError, TokenParser, TokenParserError, TokenType } from '@streamparser/json'
import { malformed, Position } from './text.ts'

export interface JsonRecord {
  /** The path of the list that has the record, such as `shortUrls.data`. '' if the record is in no page. */
  readonly list: string
  readonly value: Readonly<Record<string, unknown>>
  /** Whether it is the page itself, after its records, without its lists. */
  readonly isPage: boolean
}

/** The paths of records in a page. */
const lists = ['links', 'data', 'shortUrls.data', 'visits.data']
const heads = lists.map((list) => list.split('.', 1).join())

/** Yields the records of a file, in batches. Throws `malformed_body`. */
export async function* readJson(text: AsyncIterable<string>): AsyncGenerator<JsonRecord[]> {
  const parser = new RecordParser()
  for await (const part of text) yield parser.write(part)
  yield parser.end()
}

/** Records have fewer levels and tokens. Each takes memory. */
const [maxDepth, maxTokens] = [64, 500_000]
const tooLarge = 'a record before this place has too many values'

/** U+0000 to U+001F, which Bitly sends in titles. */
const controls = /[^\P{Cc}\x7f-\x9f]/gu

class RecordParser {
  readonly #tokenizer = new Tokenizer({ separator: '', numberBufferSize: 64 })
  readonly #parser = new TokenParser({ separator: '', keepStack: true })
  readonly #position = new Position()
  #records: JsonRecord[] = []
  /** In bytes, of the text that is parsed now and of the last token. */
  #start = 0
  #token = 0
  /** Since the last record. */
  #tokens = 0

  constructor() {
    let depth = 0
    this.#tokenizer.onToken = (token) => {
      this.#token = token.offset
      if (token.token === TokenType.LEFT_BRACE || token.token === TokenType.LEFT_BRACKET) depth += 1
      if (token.token === TokenType.RIGHT_BRACE || token.token === TokenType.RIGHT_BRACKET) depth -= 1
      this.#tokens += 1
      if (depth > maxDepth) throw new TokenParserError('too deep')
      if (this.#tokens > maxTokens) throw new TokenParserError(tooLarge)
      this.#parser.write(token)
    }
    const fail = (error: Error) => {
      throw error
    }
    this.#tokenizer.onError = fail
    this.#parser.onError = fail
    this.#parser.onEnd = () => undefined
    this.#parser.onValue = ({ value, key, parent, stack }) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return
      const path = [...stack.slice(1).map((each) => each.key), key].filter((each) => each !== undefined)
      if (typeof path[0] === 'number') path.shift()
      const list = path.slice(0, -1).join('.')
      if (path.length > 0 && !lists.includes(list)) return
      this.#tokens = 0
      const record = value as JsonRecord['value']
      this.#records.push({ list, value: record, isPage: path.length === 0 && isPage(record) })
      // Frees memory, because the list itself isn't used.
      if (Array.isArray(parent)) parent.pop()
      else if (parent !== undefined && key !== undefined) delete (parent as Record<string, unknown>)[key]
    }
  }

  /** Parses a part line by line, because control characters are dropped, and errors name the line. */
  write(part: string): JsonRecord[] {
    for (const line of part.split(/(?<=\n)/)) {
      const clean = line.replace(controls, '')
      if (clean !== '') this.#attempt(clean, () => this.#tokenizer.write(clean))
      this.#start += Buffer.byteLength(clean)
      this.#position.passed(line)
    }
    return this.#take()
  }

  end(): JsonRecord[] {
    this.#token = this.#start
    this.#attempt('', () => {
      this.#tokenizer.end()
      this.#parser.end()
    })
    return this.#take()
  }

  #take(): JsonRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }

  #attempt(text: string, parse: () => void): void {
    try {
      parse()
    } catch (error) {
      // At the end, it throws errors without a class.
      if (!(text === '' || error instanceof TokenizerError || error instanceof TokenParserError)) throw error
      const [, offset = this.#token] = /absolute position "(\d+)"/.exec((error as Error).message) ?? []
      const before = Buffer.from(text)
        .subarray(0, Math.max(0, Number(offset) - this.#start))
        .toString()
      const { line, column } = this.#position
      const isLarge = (error as Error).message === tooLarge
      const problem = isLarge ? tooLarge : text === '' ? 'the JSON ends too early' : 'this is not JSON'
      throw malformed({ line, column: column + before.length }, problem, 'Export the file again.')
    }
  }
}

function isPage(value: JsonRecord['value']): boolean {
  return heads.some((head) => typeof value[head] === 'object' && value[head] !== null)
}
