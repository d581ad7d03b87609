import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textsOf } from '../../../test/well-formed.ts'
import type { Fields } from '../../http/form-encoding.ts'
import type { Link } from '../../links/schema.ts'
import { FormState } from '../form-state.ts'
import { linkDifferences, linkSections } from './link-form.ts'

const spaces = [{ id: 2, name: 'Sales', color: 1, created_at: '', updated_at: '' }] as const
const saidOf = (fields: Fields, hasPassword = false) =>
  textsOf(linkSections(new FormState(fields), { domains: [], spaces }, hasPassword), 'summary')

test('a closed section summarizes its values', () => {
  assert.deepEqual(saidOf({ redirect_status: '302', disabled: 'false' }), [
    'Name and space',
    'Dates and limits',
    'Access',
    'Redirect',
  ])
  const all = {
    title: 'x'.repeat(60),
    space_id: '2',
    active_period_start_at: '2026-12-01T10:00',
    active_period_end_at: '2026-12-02T10:00',
    clicks_limit: '500',
    expiration_url: 'https://acme.com/over',
    disabled: 'true',
    redirect_password: 'x',
    forward_query: 'true',
    redirect_status: '308',
  }
  assert.deepEqual(saidOf(all), [
    `Name and space ${'x'.repeat(12)}…${'x'.repeat(11)}, Sales`,
    'Dates and limits from 1 Dec 2026 UTC, until 2 Dec 2026 UTC, 500 clicks, then acme.com',
    'Access disabled, password',
    'Redirect query string, 308',
  ])
  const odd = { space_id: '9', active_period_end_at: 'soon', clicks_limit: '1', expiration_url: 'over' }
  assert.deepEqual(saidOf(odd, true).slice(0, 3), [
    'Name and space 9',
    'Dates and limits until soon, 1 click, then elsewhere',
    'Access password',
  ])
})

test('lists only differences in submitted fields, with time zones', () => {
  const [url, at] = ['https://acme.com/', '2027-01-01T23:30:00.000Z']
  const stored = {
    url,
    alias: 'summer',
    title: 'Summer',
    active_period_end_at: at,
    disabled: true,
    forward_query: false,
  } as Link
  const differences = (form: Fields) => linkDifferences(form, stored, { domains: [], spaces })
  const no = { label: 'Disabled: visitors see that there is no such link', yours: '', theirs: 'Yes' }
  // Browsers don't send unchecked boxes.
  assert.deepEqual(differences({}), [no])
  assert.deepEqual(differences({ disabled: 'true', url, active_period_end_at: '2027-01-01T23:30' }), [])
  const stops = (yours: string) =>
    differences({ disabled: 'true', active_period_end_at: yours }).map((each) => [each.yours, each.theirs])
  const theirs = '1 Jan 2027, 23:30 UTC'
  assert.deepEqual(stops('2027-01-02T00:30'), [['2 Jan 2027, 00:30 UTC', theirs]])
  assert.deepEqual(stops('2027-01-01T23:30:05'), [['2027-01-01T23:30:05Z', theirs]])
  assert.deepEqual(stops('2027-13-01T23:30'), [['2027-13-01T23:30:00Z', theirs]])
  assert.deepEqual(stops(''), [['', theirs]])
  assert.deepEqual(differences({ disabled: 'true', title: '', space_id: '2' }), [
    { label: 'Title', yours: '', theirs: 'Summer' },
    { label: 'Space', yours: 'Sales', theirs: '' },
  ])
})
