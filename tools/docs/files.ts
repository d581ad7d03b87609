import { readFileSync } from 'node:fs'
import { operations } from '../../src/app/operations.ts'
import { frameStyles } from '../../src/frame/document.ts'
import { manualPages } from './manual.ts'
import { openApiDocument } from './openapi/document.ts'
import { problemFacts, problemPages } from './problem-pages.ts'
import { referencePage } from './reference/page.ts'

/** Returns the built files' texts, by path in `docs/`. */
export function buildFiles(): Map<string, string> {
  const document = `${JSON.stringify(openApiDocument(operations, 'http://localhost:3000'), null, 2)}\n`
  return new Map([
    ['openapi.json', document],
    ['html/reference.html', referencePage(document)],
    ...pagesIn('manual', manualPages()),
    ...pagesIn('problems', problemPages()),
    ...problemFacts().map(([code, json]): [string, string] => [`html/problems/${code}.json`, json]),
    ['html/static/reference.css', frameStyles() + read('reference/browser/reference.css')],
    ['html/static/reference.js', read('reference/browser/reference.js')],
    ['html/static/examples.js', read('reference/browser/examples.js')],
    ['html/static/icon.svg', read('../../src/frame/icon.svg')],
  ])
}

function pagesIn(folder: string, pages: readonly [name: string, page: string][]): [path: string, text: string][] {
  return pages.map(([name, page]) => [`html/${folder}/${name}.html`, page])
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}
