import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fields } from '../../http/form-encoding.ts'
import type { Link } from '../../links/schema.ts'
import { linkDifferences } from './link-form.ts'

const spaces = [{ id: 2, name: 'Sales', color: 1, created_at: '', updated_at: '' }] as const

test('lists only differences in submitted fields, with time zones', () => {
  const [url, at] = ['https://acme.com/', '2027-01-01T23:30:00.000Z']
  const stored = {
    url,
    alias: 'summer',
    title: 'Summer',
    active_period_end_at: at,
    disabled: true,
    forward_query: false,
    tags: ['Print'],
  } as Link
  const differences = (form: Fields) => linkDifferences(form, stored, { domains: [], spaces })
  const no = { label: 'Disabled', yours: '', theirs: 'Yes' }
  // Browsers don't send unchecked boxes.
  assert.deepEqual(differences({}), [no])
  assert.deepEqual(differences({ disabled: 'true', url, active_period_end_at: '2027-01-01T23:30' }), [])
  const stops = (yours: string) =>
    differences({ disabled: 'true', active_period_end_at: yours }).map((each) => [each.yours, each.theirs])
  const theirs = 'Jan 1, 2027, 23:30 UTC'
  assert.deepEqual(stops('2027-01-02T00:30'), [['Jan 2, 2027, 00:30 UTC', theirs]])
  assert.deepEqual(stops('2027-01-01T23:30:05'), [['2027-01-01T23:30:05Z', theirs]])
  assert.deepEqual(stops('2027-13-01T23:30'), [['2027-13-01T23:30:00Z', theirs]])
  assert.deepEqual(stops(''), [['', theirs]])
  assert.deepEqual(differences({ disabled: 'true', tags: ' Print ,' }), [])
  assert.deepEqual(differences({ disabled: 'true', title: '', space_id: '2' }), [
    { label: 'Title', yours: '', theirs: 'Summer' },
    { label: 'Space', yours: 'Sales', theirs: '' },
  ])
})
