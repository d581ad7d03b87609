import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { test } from 'node:test'
import { StartupFailure } from '../errors.ts'
import { listen } from './listen.ts'

/** A server that fails in a way that not every machine can be brought to. */
function failing(code: string): Server {
  const server = createServer()
  server.listen = () => {
    process.nextTick(() => server.emit('error', Object.assign(new Error(`listen ${code}`), { code })))
    return server
  }
  return server
}

const sentences = {
  EACCES: "This user isn't allowed to open port 80. Set PORT to a port from 1024 to 65535.",
  EAFNOSUPPORT: "Can't listen on port 80 at ::1: listen EAFNOSUPPORT. Check HOST and PORT.",
}

for (const [code, sentence] of Object.entries(sentences)) {
  test(`explains ${code} in one sentence`, async () => {
    await assert.rejects(listen(failing(code), { host: '::1', port: 80, prefix: '' }), (error) => {
      assert.ok(error instanceof StartupFailure)
      assert.equal(error.message, sentence)
      return true
    })
  })
}

test('listens on all addresses of this machine at 0.0.0.0', async (t) => {
  const server = createServer()
  const { port, url, boundUrl, isPublic } = await listen(server, { host: '0.0.0.0', port: 0, prefix: '' })
  t.after(() => server.close())
  assert.deepEqual([url, boundUrl, isPublic], [`http://localhost:${port}`, `http://0.0.0.0:${port}`, true])
})
