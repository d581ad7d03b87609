import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pack, unpack, type Visit } from './visit.ts'

test('visits are unpacked as they were packed, whatever their headers', () => {
  const text = fc.oneof(
    fc.constantFrom('', 'Firefox', ' '),
    fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\n', '')),
  )
  const values = {
    link: fc.maxSafeNat(),
    atMs: fc.maxSafeNat(),
    class: fc.constantFrom('person' as const, 'bot' as const, 'preview' as const),
    isPrivate: fc.boolean(),
    count: fc.nat(),
    ...{ address: text, host: text, userAgent: text, referrer: text, languages: text, country: text },
  }
  const visit: fc.Arbitrary<Visit> = fc.record(values, { noNullPrototype: true })
  fc.assert(fc.property(fc.array(visit), (visits) => assert.deepEqual(unpack(pack(visits)), visits)))
})

test('a header that many visits share is sent once', () => {
  const headers = { address: '192.0.2.7', host: 'go.acme.com', userAgent: 'Firefox', referrer: '', languages: 'de' }
  const visit: Visit = { link: 1, atMs: 0, class: 'person', isPrivate: false, ...headers, country: '', count: 1 }
  assert.equal(pack([visit, { ...visit, link: 2 }, visit]).texts.split('Firefox').length - 1, 1)
})
