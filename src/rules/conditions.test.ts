/** A condition is one entry of one table: requests, the document, forms and sentences derive from it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { newOwner } from '../../test/dashboard.ts'
import { conditionNames, conditions } from './conditions.ts'

const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'))
const { properties } = document.components.schemas.Rule
const app = await startApp()
const { browser, link } = await newOwner(app)

/** Returns a valid value of a condition from what the table says. */
function exampleOf(name: (typeof conditionNames)[number]): Json {
  const { control, options } = conditions[name]
  if (control === 'list' || control === 'choices') return [options?.at(-1) ?? 'de']
  if (control === 'query') return { ref: null }
  return control === 'hours' ? '22:00-06:00' : '2026-11-27T12:00:00.000Z'
}

describe('each condition of the table', () => {
  for (const name of conditionNames) {
    test(`${name} is in the document, in records, in the form and in sentences`, async () => {
      const { label, words, field, options } = conditions[name]
      const { description } = properties[name]
      assert.equal(description, (field.schema as { description?: string }).description)
      const value = exampleOf(name)
      const url = 'https://acme.com/'
      const stored = await link({ rules: [{ name: 'A', [name]: value, url }] })
      assert.deepEqual(stored.rules, [{ name: 'A', [name]: value, url }])
      const page = await browser.open(`/app/links/${stored.id}`)
      assert.ok(page.text.includes(words), page.text)
      const form = (await browser.get(`/app/links/${stored.id}/edit`)).text
      assert.ok(form.includes(words), form)
      const other = await link({ rules: [{ name: 'A', url }] })
      assert.ok((await browser.get(`/app/links/${other.id}/edit`)).text.includes(`value="${name}"`), `offers ${label}`)
      for (const option of options ?? [])
        assert.deepEqual((field.read as (raw: unknown) => unknown)([option]), [option])
    })
  }
})
