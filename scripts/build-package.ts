/**
 * Writes the generated files of the npm package. `npm pack` runs this before packing, and removes the files afterwards.
 * dist/ contains the commit and the bundle, because Node doesn't strip types under `node_modules`. npm-shrinkwrap.json
 * contains the versions and hashes of package-lock.json. npm leaves that file out of packages.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildBundle, repository } from './bundle.ts'

await buildBundle('dist')

const { packages, ...lock } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8'))
const { devDependencies, ...root } = packages['']
const locked = Object.entries<{ dev?: true }>({ ...packages, '': root }).filter(([, { dev }]) => dev === undefined)
writeFileSync(
  join(repository, 'npm-shrinkwrap.json'),
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(locked) }, null, 2)}\n`,
)
