import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../errors.ts'
import { repeated } from './form-encoding.ts'
import { isMultipart, parseMultipart } from './multipart.ts'

/** The body and the type of a form, as this version of Node encodes it. */
async function encoded(form: FormData): Promise<readonly [Buffer, string]> {
  const request = new Request('http://localhost/', { method: 'POST', body: form })
  return [Buffer.from(await request.arrayBuffer()), request.headers.get('content-type') ?? '']
}

const type = 'multipart/form-data; boundary=b'
const part = (text: string) => `--b\r\n${text}\r\n`
const field = part('Content-Disposition: form-data; name="a"\r\n\r\n1')

test('returns the text and the files of a form', async () => {
  const form = new FormData()
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256))
  form.append('plain', 'Ä 日本\r\n--x')
  form.append('"odd"\r\nname', '')
  form.append('logo', new File([bytes], 'C:\\"büro".png'))
  form.append('nothing', new File([], ''))
  form.append('empty', new File([], 'empty.txt'))
  form.append('twice', '1')
  form.append('twice', new File(['2'], '2'))
  const { nothing, empty, ...fields } = parseMultipart(...(await encoded(form))) as Record<string, unknown>
  const expected = { plain: 'Ä 日本\r\n--x', '"odd"\r\nname': '', logo: bytes }
  assert.deepEqual({ ...fields }, { ...expected, twice: repeated })
  assert.equal(nothing, '')
  assert.deepEqual(empty, Buffer.alloc(0))
})

for (const [name, body, sentence] of [
  ['an empty body', '', 'It does not start with its boundary.'],
  ['another boundary', '--c\r\n', 'It does not start with its boundary.'],
  [
    'a body that ends in a header',
    '--b\r\nContent-Disposition: form-data; name="a"',
    'It ends in the middle of a field.',
  ],
  ['a body that ends in a value', field.slice(0, -2), 'It ends in the middle of a field.'],
  ['a body without an end', field, 'It ends in the middle of a field.'],
  ['headers that never end', part(`X: ${'x'.repeat(5_000)}\r\n\r\n`), 'It ends in the middle of a field.'],
  ['a field without headers', `${part('\r\n1')}--b--`, 'A field has no name.'],
  [
    'a field without a name',
    `${part('Content-Disposition: form-data; filename="a"\r\n\r\n1')}--b--`,
    'A field has no name.',
  ],
  [
    'text that is not UTF-8',
    Buffer.from(`${field.replace('1', '\xff')}--b--`, 'latin1'),
    'The text is not valid UTF-8.',
  ],
  ['too many fields', `${field.repeat(3)}--b--`, 'At most 2 fields may be sent.'],
] as const) {
  test(`returns malformed_body for ${name}`, () => {
    const failure = parseMultipart(Buffer.from(body as string), type, 2)
    assert.ok(failure instanceof Failure)
    assert.deepEqual([failure.code, failure.message], ['malformed_body', `The form is not valid. ${sentence}`])
  })
}

test('returns malformed_body without a boundary', () => {
  assert.ok(isMultipart('Multipart/Form-Data ; x=y'))
  assert.equal(isMultipart(undefined), false)
  assert.equal(isMultipart('application/x-www-form-urlencoded'), false)
  const failure = parseMultipart(Buffer.from(`${field}--b--`), 'multipart/form-data; x=y')
  assert.equal((failure as Failure).message, 'The form is not valid. The boundary is missing.')
})

test('accepts as many fields as the limit, and a name like one of every object', () => {
  const proto = field.replace('"a"', '"__proto__"')
  const fields = parseMultipart(Buffer.from(`${field}${proto}--b--\r\n`), type, 2)
  assert.deepEqual(Object.entries(fields), [
    ['a', '1'],
    ['__proto__', '1'],
  ])
})
