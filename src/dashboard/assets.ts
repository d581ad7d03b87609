import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { frameStyles } from '../frame/document.ts'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import { type StaticContent, sendStatic, staticContent } from '../http/static-content.ts'

/** The stylesheets after the shared ones, in cascade order. */
const sheets = [
  'parts/floating',
  'parts/lists',
  'parts/tables',
  'parts/blocks',
  'parts/content',
  'parts/charts',
  'parts/bars',
  'parts/statistics',
  'parts/links',
  'parts/history',
  'parts/rules',
  'parts/qr',
  'pages',
]

const texts = new Map([
  ['app.css', shortened(frameStyles() + sheets.map((name) => textOf(`styles/${name}.css`)).join(''))],
  ...readdirSync(new URL('scripts', import.meta.url))
    .filter((name) => name.endsWith('.js'))
    .map((name) => [name, textOf(`scripts/${name}`)] as const),
])

/** A hash of all files, because scripts import each other by relative URLs. */
const assetsVersion = hash('sha1', JSON.stringify([...texts].sort()), 'hex').slice(0, 12)

export const assetFolder = `/app/static/${assetsVersion}`

export async function dashboardFiles(): Promise<ReadonlyMap<string, StaticContent>> {
  const files = [...texts].map(async ([name, text]) => {
    const type = `text/${name.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`
    return [name, await staticContent(type, text)] as const
  })
  return new Map(await Promise.all(files))
}

/** Returns styles without comments and indentation, which are a quarter of the bytes that browsers receive. */
export function shortened(styles: string): string {
  return styles.replace(/\/\*.*?\*\//gs, '').replace(/\s*\n\s*/g, '\n')
}

function textOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}

/** Returns the handler of `/app/static/:version/:name`. Files are compressed on the first request. */
export function assetHandler(): (exchange: Exchange) => Promise<HandlerResult> {
  let files: Promise<ReadonlyMap<string, StaticContent>> | undefined
  return async (exchange) => {
    const { version, name = '' } = exchange.params
    files ??= dashboardFiles()
    const file = (await files).get(name)
    if (file === undefined) return new Failure('route_not_found', 'The dashboard has no such file.')
    // A page of another version, from before an update or from another node, must not be cached with these files.
    return sendStatic(exchange, file, version === assetsVersion ? 'public, max-age=31536000, immutable' : 'no-cache')
  }
}
