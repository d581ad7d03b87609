import { readFileSync } from 'node:fs'
import about from '../package.json' with { type: 'json' }

/** The version in package.json. It ends in `-dev` between releases. */
export const packageVersion = about.version

/** The commit of this code, as 40 hexadecimal digits. Empty if unknown, for example in an archive of the source. */
export const commit = readCommit()

/** The version of this Waymark. Between releases, it has the commit, so that two schemas never share a version. */
export const version =
  packageVersion.endsWith('-dev') && commit !== '' ? `${packageVersion}+${commit.slice(0, 10)}` : packageVersion

/** The command as users run it: the npm package and the image, with code in dist/, install `waymark`; a clone has it for npx. */
export const program = new URL('.', import.meta.url).pathname.endsWith('/dist/') ? 'waymark' : 'npx waymark'

/** Reads the commit that the build of the npm package or of the image has written, or the commit of the clone. */
function readCommit(): string {
  const built = readText('commit')
  if (built !== '') return built
  const head = readText('../.git/HEAD')
  const [, branch] = /^ref: (.+)$/.exec(head) ?? []
  if (branch === undefined) return head
  const packed = readText('../.git/packed-refs').split('\n')
  return readText(`../.git/${branch}`) || (packed.find((line) => line.endsWith(` ${branch}`))?.slice(0, 40) ?? '')
}

/** Returns a file's text, or an empty text if it can't be read. */
function readText(path: string): string {
  try {
    return readFileSync(new URL(path, import.meta.url), 'utf8').trim()
  } catch {
    return ''
  }
}
