import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { type Logger, pino } from 'pino'
import { eventually, freePort, newDatabase, startProgram } from '../../test/processes.ts'
import { serverArguments } from '../../test/waymark.ts'
import { databaseUnavailable } from '../errors.ts'
import { logTo, openLog, terminalStream } from './log.ts'

test('buffers lines up to a limit while stdout is not read, and logs the number of lost lines', async (t) => {
  const script = `
    import { openLog } from '${new URL('log.ts', import.meta.url)}'
    const { logger, exit } = await openLog('info')
    process.once('SIGTERM', () => exit(0))
    setInterval(() => undefined, 1_000)
    for (let n = 0; n < 500; n++) logger.info('x'.repeat(50_000))`
  const program = startProgram(t, [process.execPath, '--input-type=module', '--eval', script], {})
  const [, lost] = await program.said(/"lines":(\d+),"msg":"log lines were lost because stdout was not read"/)
  program.child.kill('SIGTERM')
  const { code, stdout } = await program.ended
  assert.equal(code, 0)
  const kept = stdout.split('\n').filter((line) => line.includes('"msg":"xxx')).length
  assert.equal(kept, 500 - Number(lost))
  // 16 MiB, and lines that were too long for one write to begin with.
  assert.ok(kept > 300 && kept < 340, `${kept}`)
})

test('keeps serving and exits cleanly if stdout or stderr cannot be written', {
  skip: process.platform !== 'linux',
}, async (t) => {
  for (const stream of ['1', '2']) {
    const { path, variables } = newDatabase(t)
    const line = `exec '${process.execPath}' ${serverArguments.map((word) => `'${word}'`).join(' ')} ${stream}> /dev/full`
    const port = await freePort()
    const server = startProgram(t, ['sh', '-c', line], { ...variables, PORT: String(port) })
    const health = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ status }) => status === 200,
        () => false,
      )
    await eventually(health)
    assert.ok(existsSync(path))
    server.child.kill('SIGTERM')
    const { code, stdout, stderr } = await server.ended
    assert.equal(code, 0)
    if (stream === '1') assert.match(stderr, /is listening on/)
    else assert.match(stdout, /"level":50.*the startup message could not be printed/)
  }
})

test('logs text at a terminal and JSON to other streams', async (t) => {
  const { isTTY } = process.stdout
  t.after(() => Object.assign(process.stdout, { isTTY }))
  const written: string[] = []
  const write = t.mock.method(process.stdout, 'write', (text: string) => written.push(text) > 0)
  for (const atTerminal of [true, false]) {
    Object.assign(process.stdout, { isTTY: atTerminal })
    const { logger } = await openLog('info')
    logger.info({ signal: 'SIGTERM' }, 'stopping')
  }
  write.mock.restore()
  const line = written.find((text) => text.includes('stopping')) ?? ''
  assert.match(line, /INFO.*stopping/)
  assert.throws(() => JSON.parse(line))
})

test('logs the cause of a failure', () => {
  const lines: string[] = []
  const logger = logTo({ write: (line) => void lines.push(line) }, 'info')
  logger.warn({ err: databaseUnavailable(new Error('connect ECONNREFUSED')) }, 'a message')
  const { err } = JSON.parse(lines[0] as string)
  assert.match(err.message, /^The database is not available right now\..*: connect ECONNREFUSED$/)
})

/** Returns the lines at a terminal. */
async function linesOf(log: (logger: Logger) => void): Promise<string[]> {
  const texts: string[] = []
  const terminal = { write: (text: string) => texts.push(text) > 0 }
  log(pino({}, await terminalStream(terminal)))
  return stripVTControlCharacters(texts.join('')).trimEnd().split('\n')
}

test('prints a request as one readable line', async () => {
  const [line, ...more] = await linesOf((logger) =>
    logger.info(
      { request_id: 'r1', method: 'GET', route: '/api/v1/spaces', status: 200, ms: 1.234, key: 7 },
      'request',
    ),
  )
  assert.match(
    line ?? '',
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: GET \/api\/v1\/spaces 200 in 1\.2 ms \{"request_id":"r1","key":7\}$/,
  )
  assert.deepEqual(more, [])
})

test('prints errors with their stacks', async () => {
  const lines = (await linesOf((logger) => logger.error({ err: new Error('boom') }, 'internal error'))).join('\n')
  assert.match(lines, /ERROR: internal error *\n[\s\S]*"message": "boom"[\s\S]*at \S*log\.test\.ts/)
})

const script = ['/usr/bin/script', '/bin/script'].find(existsSync)

test('prints colors, and every line before the process exits', {
  skip: script === undefined || process.platform !== 'linux' ? 'there is no script(1) of util-linux' : false,
}, async (t) => {
  const source = `
    import { pino } from 'pino'
    const { terminalStream } = await import('${new URL('log.ts', import.meta.url)}')
    pino({}, await terminalStream()).info('stopped')
    process.exit(0)`
  const command = `'${process.execPath}' --input-type=module --eval "$SOURCE"`
  const line = [script as string, '--quiet', '--return', '--command', command, '/dev/null']
  const { code, stdout } = await startProgram(t, line, { SOURCE: source, TERM: 'xterm', SHELL: '/bin/sh' }).ended
  assert.equal(code, 0)
  assert.notEqual(stdout, stripVTControlCharacters(stdout))
  assert.match(stripVTControlCharacters(stdout), /^\[[\d:.]+\] INFO: stopped\r\n$/)
})
