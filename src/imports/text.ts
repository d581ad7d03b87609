/** The text of files, and positions in it. */
import { Failure } from '../errors.ts'

/** Parts of a text that is parsed without pauses, which takes a few milliseconds. */
const partBytes = 64 * 1024

/** Yields the text of a file in parts, without a byte order mark. Throws `malformed_body` if it is not UTF-8. */
export async function* decodeText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const position = new Position()
  let isStart = true
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += partBytes) {
      const part = chunk.subarray(at, at + partBytes)
      if (isStart) rejectOtherFiles(part)
      isStart = false
      yield position.passed(decode(decoder, part, position))
    }
  }
  yield decode(decoder, null, position)
}

const advice = 'Save it as UTF-8, for example as “CSV UTF-8”, and send it again.'

function rejectOtherFiles([first = 1, second = 1]: Uint8Array): void {
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || first * second === 0
  if (isUtf16) throw malformed(new Position(), 'it is in UTF-16', advice)
  // The signatures of ZIP, which Excel files have, and of gzip.
  const isCompressed = (first === 0x50 && second === 0x4b) || (first === 0x1f && second === 0x8b)
  if (isCompressed) throw malformed(new Position(), 'it is an Excel file or compressed', `Unpack it. ${advice}`)
}

function decode(decoder: TextDecoder, part: Uint8Array | null, position: Position): string {
  try {
    return part === null ? decoder.decode() : decoder.decode(part, { stream: true })
  } catch {
    const valid = new TextDecoder().decode(part ?? undefined).split('\ufffd', 1)
    position.passed(valid.join())
    throw malformed(position, 'the bytes are not UTF-8', advice)
  }
}

/** A position in a text. Lines and columns start at 1. */
export class Position {
  line = 1
  column = 1

  /** Moves behind a text, and returns it. */
  passed(text: string): string {
    const last = text.lastIndexOf('\n')
    if (last === -1) {
      this.column += text.length
      return text
    }
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.line += 1
    this.column = text.length - last
    return text
  }
}

/** Returns the failure of a file that can't be read from this position on. */
export function malformed(at: Pick<Position, 'line' | 'column'>, problem: string, wayOut: string): Failure {
  return new Failure(
    'malformed_body',
    `The file can’t be read at line ${at.line}, column ${at.column}: ${problem}. ${wayOut}`,
  )
}

/** Reads the start of a text. Returns it, and the whole text. */
export async function peekText(
  parts: AsyncGenerator<string>,
): Promise<{ readonly start: string; readonly text: AsyncGenerator<string> }> {
  let start = ''
  while (start.length < partBytes) {
    const { value, done } = await parts.next()
    if (done) break
    start += value
  }
  return { start, text: again(start, parts) }
}

async function* again(start: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield start
  yield* rest
}
