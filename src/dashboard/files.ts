/** The style sheet and the scripts of the pages, from memory. They are read when one of them is first asked for. */
import { readdirSync, readFileSync } from 'node:fs'
import { Failure } from '../errors.ts'
import type { Router } from '../http/router.ts'
import { type StaticContent, sendStatic, staticContent } from '../http/static-content.ts'

/** The sheets of each layer, in the order of the layers. */
const layers = ['reset', 'tokens', 'base', 'parts', 'pages']

/** Adds `/app/static/*`. No session is needed: the sign-in page has the same style. */
export function pageFiles(router: Router): void {
  let files: Promise<ReadonlyMap<string, StaticContent>> | undefined
  router.add('GET', '/app/static/*', async (exchange) => {
    files ??= readFiles()
    const file = (await files).get(exchange.params['*'] ?? '')
    if (file === undefined) return new Failure('route_not_found', 'The dashboard has no such file.')
    return sendStatic(exchange, file)
  })
}

async function readFiles(): Promise<ReadonlyMap<string, StaticContent>> {
  const files = new Map<string, StaticContent>()
  files.set('app.css', await staticContent('text/css; charset=utf-8', layers.flatMap(sheetsOf).join('\n')))
  for (const name of namesIn('scripts', '.js')) {
    files.set(name, await staticContent('text/javascript; charset=utf-8', read(`scripts/${name}`)))
  }
  return files
}

/** A layer is one sheet, or a folder of sheets, or both. */
function sheetsOf(layer: string): string[] {
  return namesIn('styles', '.css')
    .filter((name) => name === `${layer}.css` || name.startsWith(`${layer}/`))
    .map((name) => read(`styles/${name}`))
}

/** The files of a folder and its folders, in order. */
function namesIn(folder: string, extension: string): string[] {
  return readdirSync(new URL(folder, import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => name.replaceAll('\\', '/'))
    .sort()
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}
