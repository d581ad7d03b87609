/** What the pages load: one sheet of styles and small scripts. */
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { type StaticContent, staticContent } from '../http/static-content.ts'

/** In the order of the cascade, which the first declares. */
const sheets = [
  ...['reset', 'tokens', 'base', 'parts/frame', 'parts/phone', 'parts/buttons', 'parts/floating', 'parts/forms'],
  ...['parts/lists', 'parts/tables', 'parts/blocks', 'parts/content', 'parts/charts', 'parts/bars'],
  ...['parts/statistics', 'parts/links', 'pages'],
]

const texts = new Map([
  ['app.css', sheets.map((name) => textOf(`styles/${name}.css`)).join('')],
  ...readdirSync(new URL('scripts', import.meta.url))
    .filter((name) => name.endsWith('.js'))
    .map((name) => [name, textOf(`scripts/${name}`)] as const),
])

/**
 * Names the content of all files together: scripts import each other by relative addresses, so one that changes takes the
 * others to another folder.
 */
export const assetsVersion = hash('sha1', JSON.stringify([...texts].sort()), 'hex').slice(0, 12)

/** The address of a file, under which it never changes. */
export function assetAddress(name: 'app.css' | 'app.js'): string {
  return `/app/static/${assetsVersion}/${name}`
}

/** The files of the dashboard, by their names. */
export async function dashboardFiles(): Promise<ReadonlyMap<string, StaticContent>> {
  const files = [...texts].map(async ([name, text]) => {
    const type = name.endsWith('.css') ? 'text/css' : 'text/javascript'
    return [name, await staticContent(`${type}; charset=utf-8`, text)] as const
  })
  return new Map(await Promise.all(files))
}

function textOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}
