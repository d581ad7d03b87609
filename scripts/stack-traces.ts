/**
 * Names source files in stack traces of the bundle. `node --enable-source-maps` would read the maps of all loaded files, in
 * every thread: 26 MB. This reads a map when a stack trace needs it.
 */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

const maps = new Map<string, SourceMap | null>()

function readMap(url: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${url}.map`), 'utf8')))
  } catch {
    // Modules of Node have none.
    return null
  }
}

function toSource(frame: string): string {
  return frame.replace(/(file:[^)]*\.js):(\d+):(\d+)/, (text, url: string, line: string, column: string) => {
    const origin = maps.getOrInsertComputed(url, readMap)?.findOrigin(Number(line), Number(column))
    if (origin === undefined || !('fileName' in origin)) return text
    return `${new URL(origin.fileName, url)}:${origin.lineNumber}:${origin.columnNumber}`
  })
}

Error.prepareStackTrace = (error, frames) =>
  [error, ...frames.map((frame) => `    at ${toSource(String(frame))}`)].join('\n')
