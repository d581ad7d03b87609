import { readFileSync } from 'node:fs'
import { type StaticContent, staticContent } from '../../http/static-content.ts'
import type { OpenApi } from './openapi.ts'
import { referencePage } from './page.ts'

/** What the page loads, by the last part of its address. */
const loaded: Readonly<Record<string, string>> = {
  'base.css': 'text/css; charset=utf-8',
  'reference.css': 'text/css; charset=utf-8',
  'reference.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml; charset=utf-8',
}

/** The files of the interactive reference, by what follows `/docs/` in their address: nothing for the page. */
export async function referenceFiles(document: OpenApi): Promise<ReadonlyMap<string, StaticContent>> {
  const files = new Map([['', await staticContent('text/html; charset=utf-8', referencePage(document).text)]])
  for (const [name, type] of Object.entries(loaded)) {
    const text = readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8')
    files.set(`static/${name}`, await staticContent(type, text))
  }
  return files
}
