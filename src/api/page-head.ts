import { type Html, html, type Part } from '../http/html.ts'

/** The start of every page, up to its `<body>`. `more` goes at the end of the head. */
export function pageHead(title: string, more: Part = null): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/docs/static/icon.svg">
<link rel="stylesheet" href="/docs/static/base.css">
${more}
</head>`
}
