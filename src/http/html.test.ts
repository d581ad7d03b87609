import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './html.ts'

test('escapes text in elements and attributes, but not HTML', () => {
  const hostile = `<script>alert("1 & 2")</script>`
  const { text } = html`<p title="${hostile}">${hostile}</p>${[html`<b>${1}</b>`, null, ['<', '>']]}`
  const safe = '&lt;script&gt;alert(&quot;1 &amp; 2&quot;)&lt;/script&gt;'
  assert.equal(text, `<p title="${safe}">${safe}</p><b>1</b>&lt;&gt;`)
})

test('keeps backslashes in values', () => {
  assert.equal(html`${'\\n'}`.text, '\\n')
})
