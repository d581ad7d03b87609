import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyButton, linkButton, menu, postButton, submitButton } from './buttons.ts'

test('a link button leads to its address, in a dialog if it says so', () => {
  assert.equal(linkButton({ label: 'Edit', href: '/a?b&c' }).text, '<a class="button plain" href="/a?b&amp;c">Edit</a>')
  const { text } = linkButton({ label: 'New', href: '/new', weight: 'primary', icon: 'plus', inDialog: true })
  assert.match(text, /^<a class="button primary" href="\/new" data-dialog><svg .*<\/svg>New<\/a>$/)
})

test('a submit button sends its name and value', () => {
  assert.equal(submitButton({ label: 'Save' }).text, '<button type="submit" class="button primary">Save</button>')
  const { text } = submitButton({ label: 'Off', weight: 'link-like', name: 'do', value: 'x' })
  assert.equal(text, '<button type="submit" class="link-like" name="do" value="x">Off</button>')
})

test('a post button is a form of its own', () => {
  assert.match(postButton({ label: 'End', action: '/end' }).text, /^<form method="post" action="\/end"><button /)
})

test('a copy button has the whole text, and words for those who do not see it', () => {
  assert.match(
    copyButton('a"b', 'the key').text,
    /data-copy="a&quot;b".*<span class="hidden-text">Copy the key<\/span>/,
  )
  assert.match(copyButton('a', 'the key', 'Copy').text, /class="button copy".*<\/svg>Copy<span class="said"/)
})

test('a menu is opened by a button with a name, and holds links and forms', () => {
  const { text } = menu('menu-1', 'Actions for go.acme.com/a', [
    { label: 'Edit', href: '/edit', icon: 'edit', inDialog: true },
    { label: 'Disable', href: '/change', fields: { disabled: 'true' } },
    { label: 'Delete', href: '/delete', isDangerous: true },
  ])
  assert.match(
    text,
    /<button type="button" [^>]*popovertarget="menu-1">.*Actions for go\.acme\.com\/a<\/span><\/button>/,
  )
  assert.match(text, /<div class="menu" id="menu-1" popover>/)
  assert.match(text, /<a href="\/edit" data-dialog><svg .*Edit<\/a>/)
  assert.match(text, /<form method="post" action="\/change"><input [^>]*name="disabled" value="true"><button>Disable</)
  assert.match(text, /<a href="\/delete" class="danger">Delete<\/a>/)
})
