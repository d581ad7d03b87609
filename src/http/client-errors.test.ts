/** Malformed requests, and requests that no client should send. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { checkRawProblem } from '../../test/answer.ts'
import { startApp } from '../../test/app.ts'
import type { Answer } from '../../test/client.ts'

const app = await startApp()

/** Sends bytes. Repeats them while the app is overloaded on a busy machine. */
async function raw(...parts: readonly (string | Buffer)[]): Promise<Answer[]> {
  const answers = await app.raw(...parts)
  return answers.some(({ body }) => body?.code === 'overloaded') ? raw(...parts) : answers
}

const path = '/api/v1/spaces'
const authorization = `Authorization: Bearer ${app.key}`
const head = (method: string, target: string, ...lines: string[]) =>
  [`${method} ${target} HTTP/1.1`, 'Host: x', authorization, 'Connection: close', ...lines, '', ''].join('\r\n')
const filler = (size: number) => `X-Filler: ${'a'.repeat(size)}`

/** The ways in which the bytes of a request can arrive. */
const arrivals: Readonly<Record<string, (text: string) => string[]>> = {
  'at once': (text) => [text],
  'in pieces of 1 KiB': (text) => text.match(/.{1,1024}/gs) ?? [],
  'with its last thousand bytes one by one': (text) => [text.slice(0, -1_000), ...text.slice(-1_000)],
}

function assertOnly(answers: readonly Answer[], status: number, code: string): void {
  assert.deepEqual(
    answers.map((each) => [each.status, each.body?.code]),
    [[status, code]],
  )
  checkRawProblem(answers[0] as Answer)
}

const malformed: Readonly<Record<string, string | Buffer>> = {
  'no HTTP at all': 'GARBAGE\r\n\r\n',
  'a TLS handshake': Buffer.from('16030100a5010000a10303', 'hex'),
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'an unknown version': 'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
  'HTTP/2.0 in a request line': 'GET / HTTP/2.0\r\nHost: x\r\n\r\n',
  'HTTP/0.9 in a request line': 'GET / HTTP/0.9\r\nHost: x\r\n\r\n',
  'no version': 'GET /\r\n\r\n',
  'a method in lower case': 'get / HTTP/1.1\r\nHost: x\r\n\r\n',
  'an unknown method': 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n',
  'a space in the target': 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
  'a header without a colon': 'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n',
  'a space before the colon': 'GET / HTTP/1.1\r\nHost : x\r\n\r\n',
  'a NUL in a header': 'GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n',
  'a folded header': 'GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\0\r\n\r\n',
  'a Content-Length that is not a number': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
  'a negative Content-Length': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
  'a signed Content-Length': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n',
  'a Content-Length beyond all bounds': `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${'9'.repeat(30)}\r\n\r\n`,
  'two Content-Lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  'a Content-Length and chunks':
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a CONNECT': 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
}

for (const [what, bytes] of Object.entries(malformed)) {
  test(`400 malformed_request for ${what}`, async () => {
    assertOnly(await raw(bytes), 400, 'malformed_request')
  })
}

test('400 malformed_request for a chunk without a size', async () => {
  const lines = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  assertOnly(await raw(head('POST', path, ...lines), 'zz\r\n'), 400, 'malformed_request')
})

test('413 for a chunk size that overflows, and for chunk extensions over 16 KiB', async () => {
  const request = head('POST', path, 'Content-Type: application/json', 'Transfer-Encoding: chunked')
  for (const chunk of [`${'f'.repeat(17)}\r\n`, `1;${'x'.repeat(20_000)}`]) {
    const [answer] = await raw(request, chunk)
    assert.deepEqual([answer?.status, answer?.body.code], [413, 'body_too_large'])
  }
})

test('413 for a large chunk after 64 KiB of it', async () => {
  const request = head('POST', path, 'Content-Type: application/json', 'Transfer-Encoding: chunked')
  const [answer] = await raw(request, 'fffffff\r\n', 'x'.repeat(65_537))
  assert.deepEqual([answer?.status, answer?.body.code], [413, 'body_too_large'])
})

test('200 for a request before a pipelined CONNECT, because responses keep their order', async () => {
  const slow = `GET /api/v1/spaces HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.key}\r\n\r\n`
  const [first] = await raw(`${slow}CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n`)
  assert.equal(first?.status, 200)
})

test('200, then 400 for a malformed body after another request, because responses keep their order', async () => {
  const app = await startApp()
  const first = `GET /api/v1/spaces HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.key}\r\n\r\n`
  const second = `POST /api/v1/spaces HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.key}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`
  const answers = await app.raw(first + second, 'more that is broken')
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.code]),
    [
      [200, undefined],
      [400, 'malformed_request'],
    ],
  )
  assert.deepEqual(
    app.logs.map(({ msg }) => msg),
    ['request', 'refused'],
  )
})

describe('Host', () => {
  for (const [what, lines] of Object.entries({
    'no Host': [],
    'an empty Host': ['Host:'],
    'a Host with a path': ['Host: a/b'],
    'a Host with credentials': ['Host: u@a'],
    'a Host with a quote': ['Host: a"b'],
    'a Host with a space': ['Host: a b'],
    'a Host with a port that is none': ['Host: a:b'],
    'a Host that is not ASCII': ['Host: \xe9'],
  })) {
    test(`400 malformed_request for ${what}`, async () => {
      const request = ['GET /api/v1/spaces HTTP/1.1', ...lines, authorization, 'Connection: close', '', '']
      assertOnly(await raw(Buffer.from(request.join('\r\n'), 'latin1')), 400, 'malformed_request')
    })
  }

  test('200 with links to the Host, whatever its form', async () => {
    for (const host of ['example.com:8080', 'EXAMPLE.com', '192.0.2.1:80', '[2001:db8::1]:3000', 'my_host']) {
      const { body } = await app.send('GET', path, { headers: { host } })
      assert.equal(body.meta.path, `http://${host}${path}`)
    }
  })

  test('200 for HTTP/1.0 without a Host, with links to the local address', async () => {
    const [answer] = await raw(`GET ${path} HTTP/1.0\r\n${authorization}\r\n\r\n`)
    assert.equal(answer?.status, 200)
    assert.equal(answer?.body.meta.path, `http://127.0.0.1:${app.port}${path}`)
  })
})

describe('size', () => {
  test('200 and 404 for a URL of exactly 8 KiB', async () => {
    const query = `${path}?page=1&search=`
    assert.equal((await app.send('GET', query + '+'.repeat(8192 - query.length))).status, 200)
    assert.equal((await app.send('GET', `${path}/${'1'.repeat(8192 - path.length - 1)}`)).status, 404)
    assert.equal((await app.send('GET', `${query}${'+'.repeat(8193 - query.length)}`)).status, 414)
  })

  for (const [how, piecesOf] of Object.entries(arrivals)) {
    test(`414 for a URL of more than 8 KiB, up to 40 KiB with its headers, that arrives ${how}`, async () => {
      for (const target of [`/?${'a'.repeat(8_191)}`, `${path}/${'1'.repeat(39_000)}`]) {
        assertOnly(await raw(...piecesOf(head('GET', target))), 414, 'url_too_long')
      }
    })

    test(`431 for a URL that takes more than 40 KiB with its headers and arrives ${how}`, async () => {
      for (const size of [41_000, 100_000]) {
        assertOnly(await raw(...piecesOf(head('GET', `/${'a'.repeat(size)}`))), 431, 'headers_too_large')
      }
    })

    test(`431 for headers of more than 32 KiB that arrive ${how}`, async () => {
      const many = Array.from({ length: 33 }, () => filler(1_000))
      for (const lines of [[filler(33_000)], many, [filler(100_000)]]) {
        assertOnly(await raw(...piecesOf(head('GET', path, ...lines))), 431, 'headers_too_large')
      }
    })
  }

  test('431 for more than a thousand headers', async () => {
    const lines = Array.from({ length: 1_100 }, () => 'a: b')
    assertOnly(await raw(head('GET', path, ...lines)), 431, 'headers_too_large')
  })

  test('200 for headers of 31 KiB, with a URL of 8 KiB too', async () => {
    const headers = { 'x-filler': 'a'.repeat(31 * 1_024) }
    for (const target of [path, `${path}?search=${'+'.repeat(8_192 - path.length - 8)}`])
      assert.equal((await app.send('GET', target, { headers })).status, 200)
  })
})

test('408 after ten seconds for incomplete headers', async () => {
  const start = performance.now()
  const answers = await Promise.all([
    app.raw(`GET ${path} HTTP/1.1\r\n`, 'Host: x\r\n'),
    app.raw(`POST ${path} HTTP/1.1\r\nHost: x\r\nX-Slow: `, 'a'),
  ])
  const seconds = (performance.now() - start) / 1000
  for (const each of answers) assertOnly(each, 408, 'request_timeout')
  assert.ok(seconds > 9, `cut after ${seconds} s`)
})

test('logs no server error and stores nothing for an incomplete body', async () => {
  const total = async () => (await app.send('GET', path)).body.meta.total
  const before = await total()
  for (const lines of [['Content-Length: 100'], ['Transfer-Encoding: chunked']]) {
    const socket = connect({ host: '127.0.0.1', port: app.port })
    const request = head('POST', path, 'Content-Type: application/x-www-form-urlencoded', ...lines)
    await new Promise((written) => socket.write(`${request}${lines[0]?.startsWith('T') ? '6\r\n' : ''}name=x`, written))
    const arrived = async () => (await app.send('GET', '/health')).status
    await arrived()
    socket.destroy()
    await arrived()
  }
  assert.equal(await total(), before)
  assert.deepEqual(
    app.logs.filter(({ level }) => Number(level) >= 50),
    [],
  )
})

test('sends 100 Continue only for a body that will be read, to a client of HTTP/1.1 that expects it', async () => {
  const body = '{"name":"Awaited"}'
  const ask = async (expected: string, { key = app.key, length = body.length, version = '1.1', sent = body } = {}) => {
    const lines = ['Content-Type: application/json', `Content-Length: ${length}`, `Expect: ${expected}`]
    const request = head('POST', path, ...lines)
      .replace(app.key, key)
      .replace('HTTP/1.1', `HTTP/${version}`)
    return (await raw(request + sent)).map(({ status }) => status)
  }
  assert.deepEqual(await ask('100-continue'), [100, 201])
  assert.deepEqual(await ask('100-continue', { key: 'wm_wrong', sent: '' }), [401])
  assert.deepEqual(await ask('100-continue', { length: 1_000_000, sent: '' }), [413])
  assert.deepEqual(await ask('100-continue', { version: '1.0' }), [201])
  assert.deepEqual(await ask('200-ok'), [201])
})

test('a CONNECT that is reset does not harm other clients', async () => {
  const bytes = `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${'x'.repeat(100_000)}`
  for (let n = 0; n < 20; n++) {
    const socket = connect({ host: '127.0.0.1', port: app.port }).on('error', () => undefined)
    const closed = once(socket.resume(), 'close')
    socket.write(bytes, () => (n % 2 ? socket.resetAndDestroy() : socket.end()))
    await closed
  }
  assert.equal((await app.send('GET', '/health', { key: null })).status, 200)
})

test('a rejected connection is closed even if its client does not close it', async () => {
  const socket = connect({ host: '127.0.0.1', port: app.port, allowHalfOpen: true })
  const closed = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
  socket.write('GARBAGE\r\n\r\n')
  socket.resume()
  const kept = setInterval(() => socket.write('x'), 10)
  await closed
  clearInterval(kept)
})

test('201 for a request that is followed by garbage', async () => {
  const body = '{"name":"Kept"}'
  const request = head('POST', path, 'Content-Type: application/json', `Content-Length: ${body.length}`)
  const answers = await raw(`${request.replace('Connection: close\r\n', '')}${body}GARBAGE\r\n\r\n`)
  assert.equal(answers[0]?.status, 201)
})

test('400 for a Transfer-Encoding other than chunked, and nothing is deleted', async () => {
  const { body } = await app.send('POST', path, { form: { name: 'Kept' } })
  const at = `${path}/${body.data.id}`
  for (const coding of ['gzip', 'xchunked', 'gzip, chunked', 'chunked, gzip']) {
    assertOnly(await raw(`${head('DELETE', at, `Transfer-Encoding: ${coding}`)}0\r\n\r\n`), 400, 'malformed_request')
    assert.equal((await app.send('GET', at)).status, 200)
  }
})

test('400 for a repeated Host or Authorization header', async () => {
  for (const name of ['Host', 'Authorization'])
    assertOnly(await raw(head('GET', path, `${name}: b`)), 400, 'malformed_request')
})

test('200, 204, 404 and 405 for a target in absolute form', async () => {
  const asked = async (method: string, target: string) => (await raw(head(method, target)))[0]?.status
  assert.equal(await asked('GET', `http://x${path}`), 200)
  assert.equal(await asked('OPTIONS', `http://x${path}`), 204)
  assert.equal(await asked('DELETE', `http://x${path}`), 405)
  assert.equal(await asked('GET', 'http://x/nowhere'), 404)
})

test('404 for the target *, whatever the method', async () => {
  for (const method of ['OPTIONS', 'GET', 'HEAD', 'POST']) {
    assert.equal((await raw(head(method, '*')))[0]?.status, 404, method)
  }
})

test('400 malformed_url for an absolute form without a host, whatever the method', async () => {
  for (const method of ['GET', 'OPTIONS', 'DELETE', 'TRACE']) {
    assert.equal((await raw(head(method, 'http:///health')))[0]?.body.code, 'malformed_url', method)
  }
})

test('ignores a fragment after the path, whatever the method', async () => {
  const asked = async (method: string) => (await raw(head(method, '/health#x')))[0]?.status
  assert.deepEqual([await asked('GET'), await asked('DELETE'), await asked('OPTIONS')], [200, 405, 204])
})

test('200 and 201 for an unsupported Upgrade, with its body', async () => {
  const headers = {
    upgrade: 'h2c',
    connection: 'Upgrade, HTTP2-Settings',
    'http2-settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
  }
  assert.equal((await app.send('GET', path, { headers })).status, 200)
  const { status, body } = await app.send('POST', path, { form: { name: 'Upgraded' }, headers })
  assert.equal(status, 201)
  assert.equal(body.data.name, 'Upgraded')
})

test('closes the connection after a request with Upgrade, so that the client repeats later requests', async () => {
  const upgrade = `GET ${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n\r\n`
  const answers = await raw(upgrade + head('GET', path))
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.connection]),
    [[200, 'close']],
  )
})

describe('bytes in the URL', () => {
  test('400 malformed_url for bytes that are invalid in a URL, whether UTF-8 or not', async () => {
    for (const bytes of [Buffer.from('é日💩'), Buffer.from([0xff]), Buffer.from([0x7f]), Buffer.from([0])]) {
      for (const target of [`${path}?search=`, `${path}/`]) {
        const request = Buffer.concat([Buffer.from(`GET ${target}`), bytes, Buffer.from(head('GET', '').slice(4))])
        assertOnly(await raw(request), 400, 'malformed_url')
      }
    }
  })

  const queries = ['%', '%z', '%zz', '%ff', '%C3', '%ED%A0%80', 'search=%', 'sea%rch=x', 'page=1&%C0%80']
  const paths = ['/%', '/%zz', `${path}/%ff`, `${path}/%C3%28`, `${path}/%`, '/api/v1/%E0%A4%A']
  for (const target of [...paths, ...queries.map((query) => `${path}?${query}`)]) {
    test(`400 malformed_url for ${target}, whatever the method`, async () => {
      for (const method of ['GET', 'POST', 'OPTIONS', 'PROPFIND']) {
        const { status, body } = await app.send(method, target, { key: null })
        assert.deepEqual([status, body.code], [400, 'malformed_url'])
      }
    })
  }
})
