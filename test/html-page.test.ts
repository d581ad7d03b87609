import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readHtml } from './html-page.ts'

const page = (inside: string) =>
  `<!doctype html>\n<html lang="en"><head><title>T</title></head><body><main><h1>H</h1>${inside}</main></body></html>\n`

const rejected = `
  <p>
  </p>
  <b><i></b></i>
  <p><div></div></p>
  <p>a<p>b</p></p>
  <form><b><form></form></b></form>
  <a href="/"><span><a href="/"></a></span></a>
  <button><a href="/"></a></button>
  <table><form></form></table>
  <ul>x</ul>
  <select><b></b></select>
  <div/>
  <p class='x'></p>
  <p class="a"b="c"></p>
  <p a="1" a="2"></p>
  <p a="<"></p>
  a < b
  a & b
  &unknown;
  <!-- x -->
  <script>alert(1)</script>
  <p onclick="x"></p>
  <p style="x"></p>
  <title>2</title>
  <p id="a"></p><p id="a"></p>
  <a href="#nowhere"></a>
  <label>x</label>
  <h1>2</h1>
`

test('rejects what a browser would repair or run', () => {
  for (const inside of rejected.trim().split('\n')) {
    assert.throws(() => readHtml(page(inside.trim())), assert.AssertionError, inside)
  }
  assert.throws(() => readHtml(`${page('')}<p></p>`))
  assert.throws(() => readHtml(`${page('')}text`))
  assert.throws(() => readHtml(page('').replace('<!doctype html>', '')))
})
