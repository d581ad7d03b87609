import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startProgram } from '../../test/processes.ts'

test('lines are kept up to a bound while stdout takes none; those that are lost are counted in a line', async (t) => {
  const script = `
    import { openLog } from '${new URL('log.ts', import.meta.url)}'
    const { logger, exit } = openLog('info')
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
