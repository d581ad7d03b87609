/** What the pages load: one sheet of styles and small scripts. */
import { readdirSync, readFileSync } from 'node:fs'
import { type StaticContent, staticContent } from '../http/static-content.ts'

/** In the order of the cascade, which the first declares. */
const sheets = [
  ...['reset', 'tokens', 'base', 'parts/frame', 'parts/phone', 'parts/buttons', 'parts/forms', 'parts/lists'],
  ...[
    'parts/tables',
    'parts/blocks',
    'parts/content',
    'parts/charts',
    'parts/bars',
    'parts/statistics',
    'parts/links',
    'pages',
  ],
]

/** The files of the dashboard, by what follows `/app/static/` in their address. */
export async function dashboardFiles(): Promise<ReadonlyMap<string, StaticContent>> {
  const style = sheets.map((name) => textOf(`styles/${name}.css`)).join('')
  const files = new Map([['app.css', await staticContent('text/css; charset=utf-8', style)]])
  for (const name of readdirSync(new URL('scripts', import.meta.url))) {
    if (name.endsWith('.js'))
      files.set(name, await staticContent('text/javascript; charset=utf-8', textOf(`scripts/${name}`)))
  }
  return files
}

function textOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}
