import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkbox,
  collapsibleSection,
  errorSummary,
  type FieldState,
  formError,
  radioGroup,
  selectField,
  textField,
} from './fields.ts'

const empty: FieldState = { value: '', error: null }
const refused: FieldState = { value: '<x>', error: 'The name is "taken".' }

test('a field has a label; nothing describes it when there is nothing to say', () => {
  const { text } = textField({ name: 'name', label: 'Name', state: empty })
  assert.match(text, /<label for="field-name">Name<\/label><input type="text" id="field-name" name="name" value=""/)
  assert.doesNotMatch(text, /aria-|autofocus|required/)
})

test('a refused field keeps its value, says why, is described by that and its help, and asks for the focus', () => {
  const { text } = textField({ name: 'name', label: 'Name', state: refused, help: 'Short.', isRequired: true })
  assert.match(text, /required autofocus aria-invalid="true" aria-describedby="field-name-error field-name-help"/)
  assert.match(text, /value="&lt;x&gt;"/)
  assert.match(text, /<p class="error" id="field-name-error"><svg .*<span>The name is &quot;taken&quot;\.<\/span><\/p>/)
  assert.match(text, /<p class="help" id="field-name-help">Short\.<\/p>/)
})

test('the kinds of text have what browsers need for them', () => {
  const kind = (field: Partial<Parameters<typeof textField>[0]>) =>
    textField({ name: 'a', label: 'A', state: empty, ...field }).text
  assert.match(kind({ type: 'url' }), /class="mono" spellcheck="false" autocapitalize="none"/)
  assert.match(kind({ type: 'password' }), /autocomplete="off" spellcheck="false"/)
  assert.match(kind({ type: 'number' }), /<input type="text" .* inputmode="numeric"/)
  assert.match(kind({ isCode: true, prefix: 'a.b/', hasFocus: true }), /<bdi>a\.b\/<\/bdi>.* autofocus .*class="mono"/)
})

test('a select has its value chosen', () => {
  const options = ['1', '2'].map((value) => ({ value, label: `No. ${value}` }))
  const { text } = selectField({ name: 'a', label: 'A', state: { value: '2', error: null }, options })
  assert.match(text, /name="a"><option value="1">No\. 1<\/option><option value="2" selected>No\. 2<\/option>/)
})

test('a checkbox sends true, and is checked with true', () => {
  const box = (value: string) => checkbox({ name: 'a', label: 'A', state: { value, error: null } }).text
  assert.match(box('true'), /<input type="checkbox" id="field-a" name="a" value="true" checked><label for="field-a">A</)
  assert.doesNotMatch(box(''), /checked/)
})

test('radio buttons stand in a named group; the first has the id that errors lead to', () => {
  const options = ['1', '2'].map((value) => ({ value, label: value }))
  const { text } = radioGroup({ name: 'a', label: 'A', state: { value: '2', error: 'No.' }, options })
  assert.match(text, /<fieldset class="field"><legend>A<\/legend>/)
  assert.match(text, /aria-describedby="field-a-error" id="field-a" autofocus value="1">1</)
  assert.match(text, /aria-describedby="field-a-error" value="2" checked>2</)
})

test('a summary leads to each field when there are several errors; one stands beside its field alone', () => {
  const first = { field: 'url', message: 'No & no.' }
  assert.equal(errorSummary([first]).text, '')
  const { text } = errorSummary([first, { field: 'alias', message: 'Taken.' }])
  assert.match(text, /role="alert"><h2>2 fields need another value<\/h2>/)
  assert.match(text, /<a href="#field-url">No &amp; no\.<\/a>.*<a href="#field-alias">Taken\.<\/a>/)
  assert.match(formError('Try <again>.').text, /role="alert"><svg .*<p>Try &lt;again&gt;\.<\/p>/)
})

test('a fold is open when it must be, and says what is set inside', () => {
  assert.match(
    collapsibleSection({ title: 'When', body: 'x' }).text,
    /^<details class="fold"><summary><svg .*<\/svg>When<\/summary>/,
  )
  const { text } = collapsibleSection({ title: 'When', set: 'Until May', isOpen: true, body: 'x' })
  assert.match(text, /^<details class="fold" open>.*<span class="set">Until May<\/span>.*<div class="folded">x<\/div>/)
})
