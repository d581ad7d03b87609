import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textsOf } from '../../test/well-formed.ts'
import type { Fields } from '../http/form-encoding.ts'
import { FormState } from './form-state.ts'
import { linkFolds } from './link-controls.ts'

const spaces = [{ id: 2, name: 'Sales', color: 1, created_at: '', updated_at: '' }] as const
const saidOf = (fields: Fields, hasPassword = false) =>
  textsOf(linkFolds(new FormState(fields), { domains: [], spaces }, hasPassword), 'summary')

test('a closed fold says what is set inside', () => {
  assert.deepEqual(saidOf({ redirect_status: '302', disabled: 'false' }), [
    'Name and space',
    'Dates and limits',
    'Access',
    'Redirect',
  ])
  const all = {
    ...{ title: 'x'.repeat(60), space_id: '2', active_period_start_at: '2026-12-01T10:00' },
    ...{ active_period_end_at: '2026-12-02T10:00', clicks_limit: '500', expiration_url: 'https://acme.com/over' },
    ...{ disabled: 'true', redirect_password: 'x', forward_query: 'true', redirect_status: '308' },
  }
  assert.deepEqual(saidOf(all), [
    `Name and space ${'x'.repeat(12)}…${'x'.repeat(11)}, Sales`,
    'Dates and limits from 1 Dec 2026, until 2 Dec 2026, 500 clicks, then acme.com',
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
