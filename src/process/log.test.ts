import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { eventually, freePort, newDatabase, startProgram } from '../../test/processes.ts'
import { serverArguments } from '../../test/scripts.ts'
import { databaseUnavailable } from '../errors.ts'
import { logTo, openLog } from './log.ts'

test('buffers lines up to a limit while stdout is not read, and logs the number of lost lines', async (t) => {
  const script = `
    import { openLog } from '${new URL('log.ts', import.meta.url)}'
    const { logger, exit } = await openLog('info')
    process.once('SIGTERM', () => exit(0))
    setInterval(() => undefined, 1_000)
    for (let n = 0; n < 500; n++) logger.info('x'.repeat(50_000))`
  const program = startProgram(t, [process.execPath, '--input-type=module', '--eval', script], {})
  const [, lost] = await program.said(/"lines":(\d+),"msg":"log lines were lost, since stdout was not read"/)
  program.child.kill('SIGTERM')
  const { code, stdout } = await program.ended
  assert.equal(code, 0)
  const kept = stdout.split('\n').filter((line) => line.includes('"msg":"xxx')).length
  assert.equal(kept, 500 - Number(lost))
  // 16 MiB, and lines that were too long for one write to begin with.
  assert.ok(kept > 300 && kept < 340, `${kept}`)
})

test('keeps serving and exits cleanly if stdout cannot be written', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const { path, variables } = newDatabase(t)
  const line = `exec '${process.execPath}' ${serverArguments.map((word) => `'${word}'`).join(' ')} > /dev/full`
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
  const { code, stderr } = await server.ended
  assert.deepEqual([code, /^Standard output cannot be written: ENOSPC/.test(stderr)], [0, true])
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
