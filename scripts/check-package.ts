/**
 * Checks what users install: the npm package as a global command, and a clone with the README's first command. Both serve a
 * link. The packages come from the registry that npm is configured for, so this is a step of CI and not a test.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { packageVersion, version } from '../src/version.ts'
import { repeatWhileOverloaded } from '../test/client.ts'
import { checkThreads } from '../test/every-thread.ts'
import { type Bench, freePort, listening, type RunningServer, startProgram } from '../test/processes.ts'
import { repository } from '../test/scripts.ts'
import { visit } from '../test/visitors.ts'

const works: (() => unknown)[] = []
const bench: Bench = { after: (work) => void works.push(work) }

const read = (file: string) => readFileSync(file, 'utf8')
const run = (program: string, ...args: readonly string[]) =>
  execFileSync(program, args, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'waymark-package-')))
  bench.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Checks the content of the packed package. Returns the path of its tarball. */
function pack(): string {
  const folder = newFolder()
  run('npm', 'pack', '--silent', '--pack-destination', folder)
  for (const file of ['dist', 'npm-shrinkwrap.json']) assert.equal(existsSync(join(repository, file)), false, file)
  const tarball = join(folder, `waymark-${packageVersion}.tgz`)
  run('tar', '-xzf', tarball, '-C', folder)
  const content = join(folder, 'package')
  // An image can only be built in a clone.
  for (const name of ['Dockerfile', 'compose.yaml']) assert.equal(existsSync(join(content, name)), false, name)

  const { packages: lock } = JSON.parse(read(join(repository, 'package-lock.json')))
  const { packages: shrinkwrap } = JSON.parse(read(join(content, 'npm-shrinkwrap.json')))
  const [, ...paths] = Object.keys(lock).filter((path) => !lock[path].dev)
  assert.deepEqual(Object.keys(shrinkwrap).slice(1), paths)
  for (const path of paths) assert.deepEqual(shrinkwrap[path], lock[path])
  const { packages } = JSON.parse(run('scripts/sbom.sh', tarball))
  const names = paths.map((path) => path.replace(/.*node_modules\//, ''))
  assert.deepEqual(new Set(packages.map(({ name }: { name: string }) => name)), new Set(['waymark', ...names]))

  for (const document of globSync('**/*.md', { cwd: content })) {
    const text = read(join(content, document)).replace(/```.*?```|`[^`\n]*`/gs, '')
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g))
      assert.ok(existsSync(join(content, dirname(document), target)), `${document} links to ${target}`)
  }
  return tarball
}

/** Starts a server with this command and an empty home. Stores a link, visits it, and uses all threads. */
async function startAndUse(command: readonly string[], cwd: string, PATH: string): Promise<RunningServer> {
  const port = await freePort()
  const variables = { PATH, HOME: cwd, PORT: '0', REDIRECT_PORT: String(port) }
  const server = await listening(startProgram(bench, command, variables, { cwd }))
  await server.said(new RegExp(`^Data is stored in ${join(cwd, 'data/waymark.db')}$`, 'm'))
  assert.equal((await server.send('POST', '/api/v1/domains', { form: { name: 'localhost' } })).status, 201)
  const open = (path: string) => repeatWhileOverloaded(() => visit(port, `http://localhost${path}`))
  await checkThreads(server, open)
  const { status, headers } = await open('/sale')
  assert.deepEqual([status, headers.location], [302, 'https://acme.com/sale'])
  const { text } = await server.send('GET', '/openapi.json')
  assert.equal(text.includes('npx'), command[0] !== 'waymark')
  return server
}

const folders = (process.env.PATH ?? '').split(delimiter)
/** The PATH without the programs in node_modules, where npm puts the Node of this process. */
const PATH = folders.filter((path) => !path.includes('node_modules')).join(delimiter)

async function checkGlobalCommand(): Promise<void> {
  const prefix = newFolder()
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  run('npm', 'install', '--global', `--prefix=${prefix}`, ...quiet, pack())
  const path = join(prefix, 'bin') + delimiter + PATH
  const cwd = newFolder()
  const waymark = async (...words: readonly string[]) => {
    const { code, stdout, stderr } = await startProgram(
      bench,
      ['waymark', ...words],
      { PATH: path, HOME: cwd },
      { cwd },
    ).ended
    assert.equal(code, 0, stderr)
    return stdout
  }
  assert.equal(await waymark('--version'), `${version}\n`)
  const help = await waymark('help')
  assert.ok(help.startsWith(`Waymark ${version}\n\nUsage: waymark COMMAND\n`), help)
  assert.doesNotMatch(help, /npx/)
  assert.match(await waymark('migrate'), /\S/)
  const server = await startAndUse(['waymark', 'start'], cwd, path)
  assert.equal(JSON.parse(await waymark('links', 'list', '--json')).length, 1)
  assert.equal((await server.end('SIGTERM')).code, 0)
  await waymark('backup', 'backup.db')
  await waymark('export', 'records.jsonl')
}

async function checkClone(): Promise<void> {
  const cwd = newFolder()
  for (const name of ['package.json', 'package-lock.json', 'bin', 'src', 'docs'])
    cpSync(join(repository, name), join(cwd, name), { recursive: true })
  const [, command = ''] = /^(npm ci .*&& npm start)$/m.exec(read(join(repository, 'README.md'))) ?? []
  await startAndUse(['sh', '-c', command], cwd, PATH)
  const development = Object.keys(JSON.parse(read(join(cwd, 'package.json'))).devDependencies)
  for (const name of development) assert.equal(existsSync(join(cwd, 'node_modules', name)), false, name)
}

try {
  await checkGlobalCommand()
  await checkClone()
  process.stdout.write('The npm package and the first command of the README work.\n')
} finally {
  for (const work of works.reverse()) await work()
}
