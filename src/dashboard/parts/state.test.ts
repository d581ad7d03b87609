import assert from 'node:assert/strict'
import { test } from 'node:test'
import { submitButton } from './buttons.ts'
import { colorField, spaceLabel, statusBadge } from './links.ts'
import { confirmation, confirmLink, emptyState, notice } from './messages.ts'

test('a state that is not plain has a badge with a word; an active link has none', () => {
  assert.match(statusBadge('expired').text, /^<span class="state expired"><svg .*<\/svg>Expired<\/span>$/)
  assert.equal(statusBadge('active').text, '')
})

test('a space is a dot and its name, whatever its direction', () => {
  const { text } = spaceLabel({ name: '<קיץ>', color: 4 })
  assert.equal(text, '<span class="space"><span class="dot dot-4"></span><bdi>&lt;קיץ&gt;</bdi></span>')
})

test('the colours of spaces are dots and words', () => {
  const { text } = colorField({ name: 'color', state: { value: '6', error: null } })
  assert.match(text, /value="1"><span class="dot dot-1"><\/span>Green</)
  assert.match(text, /value="6" checked><span class="dot dot-6"><\/span>Brand</)
})

test('an empty place says what would be there, and the next step', () => {
  assert.equal(
    emptyState({ title: 'No links', why: 'None yet.' }).text,
    '<section class="empty"><h2>No links</h2><p>None yet.</p></section>',
  )
  assert.match(
    emptyState({ title: 'A', why: 'B', action: submitButton({ label: 'Go' }) }).text,
    /Go<\/button><\/section>/,
  )
})

test('a notice is read aloud, and can be undone', () => {
  assert.match(
    notice('done', 'Deleted <a>.').text,
    /class="notice done" role="status"><svg .*<p>Deleted &lt;a&gt;\.<\/p><\/div>/,
  )
  assert.match(
    notice('warning', 'No.', submitButton({ label: 'Undo' })).text,
    /class="notice warning".*<div class="line"><p>No\.<\/p> <button.*Undo<\/button><\/div><\/div>/,
  )
})

test('a confirmation says what happens, and its button repeats the verb', () => {
  const consequences = ['Visitors will see a 404.', 'Clicks are forgotten.']
  const { text } = confirmation({
    action: '/d',
    consequences,
    verb: 'Delete go.acme.com',
    cancel: '/b',
    fields: { a: 'b' },
  })
  assert.match(
    text,
    /^<form method="post" action="\/d" class="form"><input type="hidden" name="once" value="[\w-]{36}"><input type="hidden" name="a" value="b">/,
  )
  assert.match(text, /<p>Visitors will see a 404\.<\/p><p>Clicks are forgotten\.<\/p>/)
  assert.match(text, /<button type="submit" class="button danger">Delete go\.acme\.com<\/button>/)
  assert.match(text, /<a class="button plain" href="\/b" data-close>Cancel<\/a>/)
  assert.match(confirmation({ action: '/d', consequences, verb: 'End', cancel: '/b' }).text, /value="[\w-]{36}"><div/)
  assert.match(confirmLink('Delete', '/d').text, /href="\/d" data-dialog><svg .*Delete<\/a>/)
})
