import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartupFailure } from '../errors.ts'
import { type Bind, listen } from './listen.ts'

/** Fails in a way that not every machine can be brought to. */
function failing(code: string): Bind {
  const error = Object.assign(new Error(`listen ${code}`), { code })
  return () => Promise.reject(error)
}

const sentences = {
  EACCES: 'Port 80 may not be opened by this user. Set PORT to a port from 1024 to 65535.',
  EAFNOSUPPORT: 'The server cannot listen on port 80 of ::1: listen EAFNOSUPPORT. Set HOST and PORT.',
}

for (const [code, sentence] of Object.entries(sentences)) {
  test(`${code} is said in one sentence`, async () => {
    await assert.rejects(listen(failing(code), { host: '::1', port: 80 }), (error) => {
      assert.ok(error instanceof StartupFailure)
      assert.equal(error.message, sentence)
      return true
    })
  })
}
