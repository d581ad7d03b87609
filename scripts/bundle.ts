/**
 * Bundles the server, the commands and their threads with their packages, because Node loads a few large files faster, and
 * with less memory, than many small ones (ADR 47). Each thread of the source is an entry point. Other files of src/ are
 * copied.
 */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { commit } from '../src/version.ts'

export const repository = fileURLToPath(new URL('..', import.meta.url))
const source = join(repository, 'src')

/** How a module names the file of a thread or of another process. */
const moduleUrl = /(?<=new URL\('\.[^']*)\.ts(?=', import\.meta\.url\))/g

/** The process that reads logos may read only its own folder and two packages, so it shares no file with the server. */
const logoReader = 'qr/logo-reader.ts'

/** Writes the bundle into a folder of the repository, which it empties first. The code finds docs/ next to this folder. */
export async function buildBundle(name: string): Promise<void> {
  const target = join(repository, name)
  rmSync(target, { recursive: true, force: true })
  const files = globSync('**/*.*', { cwd: source }).map((file) => file.replaceAll('\\', '/'))
  const own = files.filter((file) => !/\.test\.\w+$|(^|\/)tsconfig\.json$/.test(file))
  for (const file of own.filter((file) => !file.endsWith('.ts'))) cpSync(join(source, file), join(target, file))
  writeFileSync(join(target, 'commit'), commit)

  const entries = ['main.js', 'cli.js', 'process/health-check.ts', ...own.flatMap(findThreads)]
  const options: BuildOptions = {
    absWorkingDir: repository,
    outbase: 'src',
    outdir: name,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    tsconfigRaw: '{}',
    plugins: [moduleUrls(name), latePackages],
  }
  const { metafile } = await build({
    ...options,
    entryPoints: entries.filter((entry) => entry !== logoReader).map((entry) => `src/${entry}`),
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    // CommonJS packages require modules of Node.
    banner: { js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);` },
    metafile: true,
    inject: ['scripts/stack-traces.ts'],
  })
  await build({ ...options, entryPoints: [`src/${logoReader}`], packages: 'external' })
  writeFileSync(join(target, 'LICENSES'), readLicenses(Object.keys(metafile.inputs)))
}

/** Returns the entry points of threads and processes that a file of src/ starts. */
function findThreads(file: string): string[] {
  if (!file.endsWith('.ts')) return []
  const urls = readFileSync(join(source, file), 'utf8').matchAll(/new URL\('(\.[^']*\.ts)', import\.meta\.url\)/g)
  return Array.from(urls, ([, path = '']) => posix.join(posix.dirname(file), path))
}

/** Keeps `import.meta.url` of each module, as if the bundle had the files of src/. */
function moduleUrls(target: string): Plugin {
  return {
    name: 'module URLs',
    setup({ onLoad }) {
      onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
        const file = relative(source, path).replaceAll('\\', '/').replace(/\.ts$/, '.js')
        if (file.startsWith('..')) return undefined
        const url = `new URL(${JSON.stringify(file)}, /.*\\/${basename(target)}\\//.exec(import.meta.url)[0]).href`
        const text = readFileSync(path, 'utf8').replace(moduleUrl, '.js').replaceAll('import.meta.url', url)
        return { contents: text, loader: path.endsWith('.ts') ? 'ts' : 'js' }
      })
    },
  }
}

/** Leaves out packages that are loaded on first use. They would not start faster, and CommonJS packages would lose their exports. */
const latePackages: Plugin = {
  name: 'late packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^.]/ }, ({ kind }) => (kind === 'dynamic-import' ? { external: true } : undefined))
  },
}

/** Returns the license files of the bundled packages, as their licenses demand. */
function readLicenses(inputs: readonly string[]): string {
  const folders = inputs.map((input) => /^.*node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0])
  const texts = [...new Set(folders.filter((folder) => folder !== undefined))].sort().flatMap((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(repository, folder, 'package.json'), 'utf8'))
    const licenses = globSync('{licen[cs]e,LICEN[CS]E,notice,NOTICE}*', { cwd: join(repository, folder) })
    return licenses.map(
      (file) => `${name} ${version}\n\n${readFileSync(join(repository, folder, file), 'utf8').trim()}\n`,
    )
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}
