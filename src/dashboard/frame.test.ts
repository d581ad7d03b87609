import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from '../http/html.ts'
import { type FramedDocument, renderBare, renderFramed } from './frame.ts'
import { notice } from './parts/messages.ts'

const page: FramedDocument = {
  ...{
    title: '/summer on go.acme.com',
    place: 'links',
    account: 'Acme & Co',
    scheme: 'system',
    path: '/app/links?a&b',
  },
  body: html`<p>Content</p>`,
}

test('a page is a whole document with its title, the way past the navigation first', () => {
  const text = renderFramed(page)
  assert.match(text, /^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">/)
  assert.match(text, /<title>\/summer on go\.acme\.com · Waymark<\/title>/)
  assert.match(text, /<body class="framed">\n<a class="skip" href="#main">Skip to content<\/a>/)
  assert.match(text, /<h1>\/summer on go\.acme\.com<\/h1><\/header>\n<div class="content"><p>Content<\/p><\/div>/)
  assert.doesNotMatch(text, / style=| on[a-z]+=|<script>|<style/)
})

test('the navigation marks where the page belongs, and nothing else', () => {
  const marked = [...renderFramed(page).matchAll(/<a href="([^"]*)" aria-current="page">/g)].map(([, href]) => href)
  assert.deepEqual(marked, ['/app/links'])
})

test('the account, the way out and the colours stand at the foot of the navigation', () => {
  const text = renderFramed(page)
  assert.match(text, /<bdi>Acme &amp; Co<\/bdi>/)
  assert.match(text, /<form method="post" action="\/app\/sign-out"><button class="link-like">Sign out</)
  assert.match(text, /action="\/app\/scheme".*<input type="hidden" name="next" value="\/app\/links\?a&amp;b">/)
  assert.match(text, /value="system"[^>]* aria-pressed="true".*value="light"[^>]* aria-pressed="false"/)
})

test('a chosen scheme stands in the document, for the style and the browser', () => {
  const text = renderFramed({ ...page, scheme: 'dark' })
  assert.match(text, /<html lang="en" data-scheme="dark">/)
  assert.match(text, /<meta name="color-scheme" content="dark">/)
})

test('heading, action and notice have their places', () => {
  const action = html`<a href="/app/links/new">New link</a>`
  const text = renderFramed({ ...page, heading: 'Summer', action, notice: notice('done', 'Saved.') })
  assert.match(
    text,
    /<main [^>]*>\n<div class="notice done" role="status">.*<h1>Summer<\/h1><a href="\/app\/links\/new">/s,
  )
})

test('a page without a session has neither navigation nor account', () => {
  const text = renderBare({ title: 'Sign in', scheme: 'light', body: 'Here.', notice: notice('done', 'Signed out.') })
  assert.match(text, /<body class="bare">\n<main id="main">.*Signed out\..*<h1>Sign in<\/h1>\nHere\./s)
  assert.doesNotMatch(text, /<nav|sign-out/)
  assert.match(renderBare({ title: 'Gone', heading: 'Not here', scheme: 'system', body: '' }), /<h1>Not here<\/h1>/)
})
