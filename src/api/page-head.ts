import { type Html, html, type Part } from '../http/html.ts'

/** The beginning of every page, up to its `<body>`. `more` is what its head has besides. */
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
