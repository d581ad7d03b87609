/** Reads JSON in bounded time, within bounds of what any request needs. */
import { Failure } from '../errors.ts'
import { Ticks } from '../lib/ticks.ts'
import { addField, maxFields } from './form-encoding.ts'

export const tooManyMembers = new Failure(
  'malformed_body',
  `The JSON has too many members: at most ${maxFields} may be sent.`,
)

/** Every list rejects more values, so the others are not stored. */
const maxItems = 10_000
/** Every field rejects values with more levels, so deeper ones are not stored. */
const maxDepth = 16
/** Values and ends that are read before the time is checked. */
const stepsPerCheck = 100
const jsonToken = /[ \t\n\r]*([{}[\]:,]|"[^"\\]*(?:\\.[^"\\]*)*"?|[^\s{}[\]:,"]+|$)/sy

/** An object or array while it is read. */
interface Container {
  readonly end: '}' | ']'
  /** The name of the next value, in an object. */
  name: string
  readonly add: (name: string, value: unknown) => void
  readonly value: () => unknown
}

function newObject(): Container {
  const fields: Record<string, unknown> = Object.create(null)
  let members = 0
  const add = (name: string, value: unknown) => {
    members += 1
    if (members <= maxFields) addField(fields, name, value)
  }
  return { end: '}', name: '', add, value: () => (members > maxFields ? tooManyMembers : fields) }
}

function newArray(): Container {
  const items: unknown[] = []
  const add = (_: string, value: unknown) => void (items.length <= maxItems && items.push(value))
  return { end: ']', name: '', add, value: () => items }
}

const ignored = { name: '', add: () => undefined, value: () => ignored }
const deepObject: Container = { ...ignored, end: '}' }
const deepArray: Container = { ...ignored, end: ']' }

const unfinished = Symbol('unfinished')

/** A position in a text. Lines and columns start at 1. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** Parses JSON. `JSON.parse` would block the event loop, and use the last value of a repeated member. */
export class JsonReader {
  /** The offsets of the values in the outermost array or object. */
  readonly starts: number[] = []
  readonly #text: string
  readonly #failure: (at: TextPosition, token: string) => unknown
  readonly #open: Container[] = []
  #value: unknown = unfinished
  #at = 0
  /** The position of the last token. */
  #last = 0

  /** `failure` returns what to throw for an unexpected token, which is empty at the end of the text. */
  constructor(text: string, failure: (at: TextPosition, token: string) => unknown) {
    this.#text = text
    this.#failure = failure
  }

  async read(): Promise<unknown> {
    const ticks = new Ticks()
    for (let step = 1; this.#step(); step++) if (step % stepsPerCheck === 0) await ticks.next()
    return this.#end()
  }

  /** Reads a text as `read` does, without pauses. */
  readShort(): unknown {
    while (this.#step());
    return this.#end()
  }

  /** Returns the position of an offset. */
  positionAt(offset: number): TextPosition {
    let line = 1
    let lineStart = 0
    for (let end = this.#text.indexOf('\n'); end >= 0 && end < offset; end = this.#text.indexOf('\n', lineStart)) {
      line += 1
      lineStart = end + 1
    }
    return { line, column: offset - lineStart + 1 }
  }

  /** Returns false after the last value. */
  #step(): boolean {
    const container = this.#open.at(-1)
    const isStart = this.#value === unfinished || container === undefined
    this.#value = isStart ? this.#start() : this.#add(container, this.#value)
    return this.#value === unfinished || this.#open.length > 0
  }

  #end(): unknown {
    return this.#skip('') ? this.#value : this.#fail()
  }

  /** Reads a scalar or an empty container, or the start of another container, which is unfinished. */
  #start(): unknown {
    const token = this.#next()
    if (this.#open.length === 1) this.starts.push(this.#last)
    if (token !== '{' && token !== '[') return this.#scalar(token)
    const isDeep = this.#open.length >= maxDepth
    const container = token === '{' ? (isDeep ? deepObject : newObject()) : isDeep ? deepArray : newArray()
    if (this.#skip(container.end)) return container.value()
    this.#open.push(container)
    this.#readName(container)
    return unfinished
  }

  /** Adds a value to a container. Returns the container's value if that was the last. */
  #add(container: Container, value: unknown): unknown {
    container.add(container.name, value)
    if (this.#skip(',')) {
      this.#readName(container)
      return unfinished
    }
    if (!this.#skip(container.end)) this.#fail()
    this.#open.pop()
    return container.value()
  }

  /** Reads the name of a member, if the container is an object. */
  #readName(container: Container): void {
    if (container.end === ']') return
    const token = this.#next()
    container.name = token.startsWith('"') ? String(this.#scalar(token)) : this.#fail()
    if (!this.#skip(':')) this.#fail()
  }

  /** Returns the next token; '' at the end of the text. */
  #next(): string {
    jsonToken.lastIndex = this.#at
    const [whole = '', token] = jsonToken.exec(this.#text) ?? []
    this.#last = this.#at + whole.length - (token?.length ?? 0)
    this.#at += whole.length
    return token ?? this.#fail()
  }

  /** Skips the next token if it is this one. */
  #skip(token: string): boolean {
    const before = this.#at
    if (this.#next() === token) return true
    this.#at = before
    return false
  }

  #scalar(token: string): unknown {
    try {
      return JSON.parse(token)
    } catch {
      return this.#fail()
    }
  }

  /** Throws the failure of the last token. */
  #fail(): never {
    jsonToken.lastIndex = this.#last
    const token = jsonToken.exec(this.#text)?.[1] ?? this.#text.charAt(this.#last)
    throw this.#failure(this.positionAt(this.#last), token)
  }
}
