import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { pino } from 'pino'
import { startProgram } from '../../test/processes.ts'
import { terminalStream } from './log.ts'

/** Returns the lines at a terminal. */
async function linesOf(log: (logger: pino.Logger) => void): Promise<string[]> {
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
  assert.match(lines, /ERROR: internal error *\n[\s\S]*"message": "boom"[\s\S]*at \S*terminal-log\.test\.ts/)
})

const script = ['/usr/bin/script', '/bin/script'].find(existsSync)

test('prints colors, and every line before the process exits', {
  skip: script === undefined || process.platform !== 'linux' ? 'there is no script(1) of util-linux' : false,
}, async (t: TestContext) => {
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
