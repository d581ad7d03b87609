/** Starts the programs with the Node versions of this machine. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test as testOf } from 'node:test'
import { eventually, listening, measured, newDatabase, startProgram } from '../../test/processes.ts'
import { commandArguments, launcher, repository, serverArguments } from '../../test/scripts.ts'
import { version } from '../version.ts'

const test = (promise: string, work: (t: TestContext) => Promise<void> | void) =>
  testOf(promise, { timeout: 60_000 }, work)

const sentence = /^Waymark requires Node 26, but this is Node \d+\.\d+\.\d+\. Run "npm ci", [^\n]+\n$/

/** Returns a Node in the PATH that is too old to run the source. */
function olderNode(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))
  return candidates.filter(existsSync).find((node) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    return Number.parseInt(stdout.slice(1), 10) < 26
  })
}

const older = olderNode()
const withOlder = { skip: older === undefined ? 'no older Node is in the PATH' : false, timeout: 60_000 }

testOf('an older Node explains what to do and returns 1', withOlder, async (t) => {
  for (const words of [['src/main.js'], ['src/cli.js', 'version'], serverArguments, commandArguments]) {
    const ended = await startProgram(t, [older as string, ...words], {}).ended
    assert.deepEqual([ended.code, ended.stdout], [1, ''])
    assert.match(ended.stderr, sentence)
  }
})

testOf('bin/waymark.js finds Node 26 under an older Node', withOlder, async (t) => {
  const { code, stdout, stderr } = await startProgram(t, [older as string, launcher, 'version'], {}).ended
  assert.deepEqual([code, stdout, stderr], [0, `${version}\n`, ''])
})

test('rejects a Node that reports version 20', async (t) => {
  const disguise = `data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"20.1.0"}})`
  const ended = await startProgram(t, [process.execPath, '--import', disguise, 'src/main.js'], {}).ended
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /^Waymark requires Node 26, but this is Node 20\.1\.0\. /)
})

test('npx waymark returns the exit code of the command', async (t) => {
  const { code, stdout, stderr } = await startProgram(t, ['npx', 'waymark', 'frob'], {}).ended
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /^Unknown command "frob"\.$/m)
})

test('the server stops when npx is killed', async (t) => {
  const { variables } = newDatabase(t)
  const server = await listening(startProgram(t, ['npx', 'waymark', 'start'], { ...variables, PORT: '0' }))
  server.child.kill('SIGTERM')
  const isGone = () =>
    fetch(server.url).then(
      () => false,
      () => true,
    )
  await eventually(isGone, 20_000)
})

test('npm start and waymark start run the server as the tests do, until SIGTERM', async (t) => {
  for (const command of [
    ['npm', 'start'],
    [process.execPath, launcher, 'start'],
  ]) {
    const { variables } = newDatabase(t)
    const server = await listening(startProgram(t, command, { ...measured(), ...variables, PORT: '0' }))
    assert.equal((await server.send('GET', '/api/v1/spaces')).status, 200)
    const { pid } = JSON.parse((await server.said(/^{.*"msg":"request".*$/m))[0])
    if (process.platform === 'linux') {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1)
      assert.deepEqual(
        words.map((word) => word.replace('file://', '')),
        serverArguments,
      )
    }
    process.kill(pid, 'SIGTERM')
    const { code, stdout } = await server.ended
    assert.equal(code, 0)
    assert.match(stdout, /"msg":"stopped"/)
  }
})

test('bin/waymark.js knows the Node packages', () => {
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const platforms = Object.keys(manifest.optionalDependencies).map((name) => /^node(?:-bin)?(-.+)$/.exec(name)?.[1])
  assert.deepEqual(platforms, ['-darwin-arm64', '-darwin-x64', '-linux-arm64', '-linux-x64', '-win-x64'])
})
