/** The commands of the Dockerfile, run without Docker. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { version } from '../src/version.ts'
import { type Ended, freePort, measured, newDatabase, newFolder, startProgram } from './processes.ts'
import { repository } from './scripts.ts'
import { listenOn } from './servers.ts'
import { codeFolder, startServer } from './waymark.ts'

const dockerfile = readFileSync(join(repository, 'Dockerfile'), 'utf8')

/** Runs the warm-up of the image. `start` is a shell command that runs before the server, in `folder`. */
function warmUp(t: TestContext, start: string) {
  const folder = newFolder(t)
  // The server starts only after the warm-up has waited for it once, however fast this machine is.
  spawnSync('mkfifo', [join(folder, 'waited')])
  const programs = {
    node: `case "$*" in *'bin/waymark.js start') (cd '${folder}' && ${start}) || exit ;; esac; exec '${process.execPath}' "$@"`,
    sleep: `cd '${folder}'; if [ ! -e woken ]; then : > woken; echo > waited; fi; exec /bin/sleep "$@"`,
  }
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  const [, command = ''] = /^RUN (mkdir \/tmp\/warm-up (?:.*\\\n)*.*)$/m.exec(dockerfile) ?? []
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command.replaceAll('/tmp/warm-up', `${folder}/warm-up`)], {
    cwd: repository,
    env: { PATH: folder + delimiter + process.env.PATH },
    encoding: 'utf8',
  })
  return { status, stdout, stderr, isCleanedUp: !existsSync(join(folder, 'warm-up')) }
}

test('the warm-up waits for a slow server and stops it', (t) => {
  const { status, stdout, stderr, isCleanedUp } = warmUp(t, 'cat waited')
  assert.deepEqual([status, stdout, stderr, isCleanedUp], [0, `${version}\n`, '', true])
})

test('the warm-up fails if the server cannot start', (t) => {
  assert.notEqual(warmUp(t, 'cat waited; exit 3').status, 0)
})

/** Runs the health check of the image. */
async function checkHealth(t: TestContext, variables: Readonly<Record<string, string>>): Promise<Ended> {
  const [, command = '[]'] = /^HEALTHCHECK .*\\\n {2}CMD (\[.*\])$/m.exec(dockerfile) ?? []
  // Without the bundle of the image, its source.
  const ofCode = codeFolder === 'src' ? command.replace('health-check.js', 'health-check.ts') : command
  const [node, ...words] = JSON.parse(ofCode.replaceAll('dist/', `${codeFolder}/`))
  assert.equal(node, 'node')
  return startProgram(t, [process.execPath, ...words], { ...measured(), ...variables }).ended
}

const hasIpv6 = Object.values(networkInterfaces()).some((own) => own?.some(({ address }) => address === '::1'))

/** Starts a server that gives this response to health checks. Returns its port. */
async function startOps(t: TestContext, host: string, status: number, text: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(text))
  return String(await listenOn(t, server, host))
}

test('the health check finds the server while it runs, at PORT without an ops listener', async (t) => {
  const withOps = { OPS_PORT: String(await freePort()) }
  const withoutOps = { OPS_PORT: '0', PORT: String(await freePort()) }
  const server = await startServer(t, { ...newDatabase(t).variables, ...withoutOps, ...withOps })
  for (const [variables, line] of [
    [withOps, '200 {"status":"ready"}\n'],
    [withoutOps, '200 {"status":"ok"}\n'],
  ] as const) {
    const { code, stdout, stderr } = await checkHealth(t, variables)
    assert.deepEqual([code, stdout, stderr], [0, line, ''])
  }
  await server.end('SIGTERM')
  const { code, stdout, stderr } = await checkHealth(t, withOps)
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^http:\/\/\S+ does not respond: ECONNREFUSED\.\n$/)
})

test('the health check finds the server at OPS_HOST, and fails while the server is not ready', async (t) => {
  for (const [OPS_HOST, status, text] of [
    ['0.0.0.0', 200, 'ready'],
    ['localhost', 503, '{"status":"draining"}'],
    ...(hasIpv6 ? ([['[::1]', 200, 'ready']] as const) : []),
  ] as const) {
    const OPS_PORT = await startOps(t, OPS_HOST.replace(/^\[(.*)\]$/, '$1'), status, text)
    const { code, stdout, stderr } = await checkHealth(t, { OPS_HOST, OPS_PORT })
    assert.deepEqual([code, stdout, stderr], [status === 200 ? 0 : 1, `${status} ${text}\n`, ''])
  }
})

test('the health check explains an invalid configuration and a port that it can not know', async (t) => {
  for (const [variables, sentence] of [
    [{ OPS_PORT: '65530', WORKERS: '7' }, 'OPS_PORT must be an integer from 0 to 65529, not "65530".'],
    [{ OPS_PORT: '0', PORT: '0' }, 'With PORT=0 and OPS_PORT=0, the server uses any free port. Set one of them.'],
  ] as const) {
    const { code, stdout, stderr } = await checkHealth(t, variables)
    assert.deepEqual([code, stdout, stderr], [1, '', `${sentence}\n`])
  }
})
