/** The npm package: packed, and installed from a registry on this machine. */
import assert from 'node:assert/strict'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { packageVersion, version } from '../src/version.ts'
import { repeatWhileOverloaded } from './client.ts'
import { type Ended, freePort, listening, newFolder, type RunningServer, startProgram } from './processes.ts'
import { startRegistry } from './registry.ts'
import { repository } from './scripts.ts'
import { visit } from './visitors.ts'

/** Runs a program to its end, which must succeed. */
async function runProgram(t: TestContext, words: readonly string[], cwd = repository): Promise<Ended> {
  const ended = await startProgram(t, words, { npm_config_userconfig: '/dev/null' }, { cwd }).ended
  assert.equal(ended.code, 0, ended.stdout + ended.stderr)
  return ended
}

/** Packs Waymark and unpacks the tarball. Returns the path of the tarball and of the folder with its content. */
async function packAndUnpack(t: TestContext): Promise<{ tarball: string; content: string }> {
  const folder = newFolder(t)
  await runProgram(t, ['npm', 'pack', '--pack-destination', folder])
  const tarball = join(folder, `waymark-${packageVersion}.tgz`)
  await runProgram(t, ['tar', '-xzf', tarball, '-C', folder])
  return { tarball, content: join(folder, 'package') }
}

/** Installs a tarball globally with a new prefix and cache. Returns the folder with the commands. */
async function installGlobally(t: TestContext, tarball: string): Promise<string> {
  const prefix = newFolder(t)
  const options = [`--prefix=${prefix}`, `--cache=${join(prefix, 'cache')}`, `--registry=${await startRegistry(t)}`]
  await runProgram(t, ['npm', 'install', '--global', '--no-audit', '--no-fund', ...options, tarball])
  return join(prefix, 'bin')
}

/** Checks that the relative links and pictures of the package's documents have files in the package. */
function assertLinksExist(content: string): void {
  const documents = globSync('**/*.md', { cwd: content })
  assert.ok(documents.length > 30)
  for (const document of documents) {
    const text = readFileSync(join(content, document), 'utf8').replace(/```.*?```|`[^`\n]*`/gs, '')
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
      assert.ok(existsSync(join(content, dirname(document), target)), `${document} links to ${target}`)
    }
  }
}

test('the npm package installs as a global command that serves a link', async (t) => {
  const { tarball, content } = await packAndUnpack(t)
  for (const file of ['dist', 'npm-shrinkwrap.json']) assert.equal(existsSync(join(repository, file)), false)

  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')).packages
  const shrinkwrap = JSON.parse(readFileSync(join(content, 'npm-shrinkwrap.json'), 'utf8')).packages
  const expected = Object.keys(lock).filter((path) => !lock[path].dev)
  assert.deepEqual(Object.keys(shrinkwrap), expected)
  for (const path of expected.slice(1)) assert.deepEqual(shrinkwrap[path], lock[path])

  const { packages } = JSON.parse((await runProgram(t, ['scripts/sbom.sh', tarball])).stdout)
  const listed = packages.map(({ name }: { name: string }) => name)
  const names = expected.slice(1).map((path) => path.replace(/.*node_modules\//, ''))
  assert.deepEqual(new Set(listed), new Set(['waymark', ...names]))

  assertLinksExist(content)
  // An image can only be built in a clone.
  for (const name of ['Dockerfile', 'compose.yaml']) assert.equal(existsSync(join(content, name)), false, name)

  // The hashes are of the packages of the public registry. npm packs the same files differently here.
  rmSync(join(content, 'npm-shrinkwrap.json'))
  await runProgram(t, ['tar', '-czf', tarball, '-C', dirname(content), 'package'])

  const bin = await installGlobally(t, tarball)
  const cwd = realpathSync(newFolder(t))
  mkdirSync(join(cwd, 'home'))
  const PATH = bin + delimiter + withoutPackages()
  const variables = { PATH, HOME: join(cwd, 'home'), PORT: '0', REDIRECT_PORT: String(await freePort()) }
  const help = await startProgram(t, ['waymark', 'help'], variables, { cwd }).ended
  assert.ok(help.stdout.startsWith(`Waymark ${version}\n\nUsage: waymark COMMAND\n`), help.stdout)
  assert.doesNotMatch(help.stdout, /npx/)

  const server = await listening(startProgram(t, ['waymark', 'start'], variables, { cwd }))
  await server.said(new RegExp(`^Data is stored in ${join(cwd, 'data/waymark.db')}$`, 'm'))
  await assertServesLink(server, variables.REDIRECT_PORT)
  const { text } = await server.send('GET', '/openapi.json')
  assert.ok(text.includes('`waymark keys create`') && !text.includes('npx'))
  assert.equal((await server.end('SIGTERM')).code, 0)
})

test("the README's first command installs no development packages, and starts a server that serves a link", async (t) => {
  const cwd = realpathSync(newFolder(t))
  for (const name of ['package.json', 'bin', 'src', 'docs']) {
    cpSync(join(repository, name), join(cwd, name), { recursive: true })
  }
  // The registry packs the packages again, so their hashes are different.
  const lock = readFileSync(join(repository, 'package-lock.json'), 'utf8').replace(/^ *"integrity": ".*",?\n/gm, '')
  writeFileSync(join(cwd, 'package-lock.json'), lock)
  const [, command = ''] = /^(npm ci .*&& npm start)$/m.exec(readFileSync(join(repository, 'README.md'), 'utf8')) ?? []
  const variables = {
    PATH: withoutPackages(),
    HOME: cwd,
    PORT: '0',
    REDIRECT_PORT: String(await freePort()),
    npm_config_registry: await startRegistry(t),
  }
  const server = await listening(startProgram(t, ['sh', '-c', command], variables, { cwd }))
  await assertServesLink(server, variables.REDIRECT_PORT)
  const development = Object.keys(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')).devDependencies)
  assert.ok(development.length > 10)
  for (const name of development) assert.equal(existsSync(join(cwd, 'node_modules', name)), false, name)
})

/** Stores a link, visits it, and opens pages of the API listener. */
async function assertServesLink(server: RunningServer, redirectPort: string): Promise<void> {
  const send = (path: string, form: Record<string, string>) => server.send('POST', `/api/v1/${path}`, { form })
  assert.equal((await send('domains', { name: 'localhost' })).status, 201)
  assert.equal((await send('links', { alias: 'sale', url: 'https://acme.com/sale' })).status, 201)
  const url = 'http://localhost/sale'
  const { status, headers } = await repeatWhileOverloaded(() => visit(Number(redirectPort), url))
  assert.deepEqual([status, headers.location], [302, 'https://acme.com/sale'])
  for (const path of ['/docs', '/docs/dashboard', '/problems/not_found', '/app/sign-in'])
    assert.equal((await server.send('GET', path)).status, 200)
}

/** Returns the PATH of the machine, without the programs in node_modules. */
function withoutPackages(): string {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.filter((path) => !path.includes('node_modules')).join(delimiter)
}
