/** What the scripts in package.json start, as arguments to Node that hold in any folder. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('..', import.meta.url))

/** The type checker. The package `typescript` is an older version, because openapi-typescript needs its API. */
export const typeChecker = join(repository, 'node_modules/@typescript/native/bin/tsc')

/** As they stand there. */
export const { scripts }: { readonly scripts: Readonly<Record<'start' | 'waymark', string>> } = JSON.parse(
  readFileSync(join(repository, 'package.json'), 'utf8'),
)

/** `npm start`, without npm and a shell in between. */
export const serverArguments = argumentsOf(scripts.start)
/** `npm run waymark`, likewise. */
export const commandArguments = argumentsOf(scripts.waymark)

function argumentsOf(script: string): string[] {
  // What comes after `||` is the same for Windows, whose shell has no `exec`.
  const [first = ''] = script.split(' || ')
  const words = first.replace(/^(exec )?node /, '').split(' ')
  return words.map((word) => (/^(\.\/)?src\//.test(word) ? join(repository, word) : word))
}
