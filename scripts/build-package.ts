/**
 * Writes the generated files of the npm package. `npm pack` runs this before packing, and removes the files afterwards.
 * dist/ contains the commit, and JavaScript, because Node doesn't strip types under `node_modules`. npm-shrinkwrap.json
 * contains the versions and hashes of package-lock.json. npm leaves that file out of packages.
 */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commit } from '../src/version.ts'

const repository = fileURLToPath(new URL('..', import.meta.url))
const [source, target] = [join(repository, 'src'), join(repository, 'dist')]

rmSync(target, { recursive: true, force: true })
for (const file of globSync('**/*.*', { cwd: source })) {
  if (/\.test\.\w+$|(^|[\\/])tsconfig\.json$/.test(file)) continue
  const path = join(target, file.replace(/\.ts$/, '.js'))
  if (existsSync(path)) throw new Error(`Two files of src/ would become ${path}.`)
  mkdirSync(dirname(path), { recursive: true })
  if (/\.[jt]s$/.test(file)) writeFileSync(path, toJavaScript(readFileSync(join(source, file), 'utf8')))
  else cpSync(join(source, file), path)
}

writeFileSync(join(target, 'commit'), commit)

const { packages, ...lock } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8'))
const { devDependencies, ...root } = packages['']
const locked = Object.entries<{ dev?: true }>({ ...packages, '': root }).filter(([, { dev }]) => dev === undefined)
writeFileSync(
  join(repository, 'npm-shrinkwrap.json'),
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(locked) }, null, 2)}\n`,
)

/** Replaces types by spaces, so that line numbers stay, and the extensions of relative module names. */
function toJavaScript(text: string): string {
  return stripTypeScriptTypes(text).replace(/(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g, '$1$2.js$1')
}
