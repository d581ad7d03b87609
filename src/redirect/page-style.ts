/** The style of the pages, and the policy that allows it and little else. */
import { hash } from 'node:crypto'

const style = `
:root {
  color-scheme: light dark;
  --ink: light-dark(oklch(25% 0.02 230), oklch(93% 0.01 230));
  --muted: light-dark(oklch(45% 0.02 230), oklch(74% 0.02 230));
  --line: light-dark(oklch(62% 0.02 230), oklch(55% 0.02 230));
  --ground: light-dark(oklch(97.5% 0.005 195), oklch(19% 0.015 230));
  --raised: light-dark(oklch(100% 0 0), oklch(24% 0.015 230));
  --accent: light-dark(oklch(45% 0.08 195), oklch(80% 0.1 195));
  --on-accent: light-dark(oklch(100% 0 0), oklch(19% 0.03 195));
  --danger: light-dark(oklch(48% 0.17 27), oklch(78% 0.12 25));
}
* { box-sizing: border-box; }
body {
  display: grid;
  min-block-size: 100vh;
  margin: 0;
  padding: 24px;
  place-items: center;
  background: var(--ground);
  color: var(--ink);
  font: 450 0.9375rem / 1.5 system-ui, sans-serif;
}
main {
  inline-size: 100%;
  max-inline-size: 32rem;
  padding: 32px;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--raised);
  overflow-wrap: anywhere;
}
h1 { margin: 0 0 12px; font-size: 1.375rem; font-weight: 650; line-height: 1.2; }
p, dl { margin: 0 0 16px; }
:is(p, dl, form, dd):last-child { margin-block-end: 0; }
dt, label { color: var(--muted); font-size: 0.8125rem; }
dd { margin: 0 0 12px; }
.code { font-family: ui-monospace, monospace; }
.error { color: var(--danger); font-weight: 650; }
a { color: var(--accent); }
label { display: block; margin-block-end: 4px; }
input, button {
  min-block-size: 48px;
  padding: 8px 16px;
  border: 1px solid var(--line);
  border-radius: 6px;
  font: inherit;
  font-size: 1.0625rem;
}
input { inline-size: 100%; margin-block-end: 16px; background: var(--ground); color: var(--ink); }
button { border-color: transparent; background: var(--accent); color: var(--on-accent); font-weight: 650; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 30rem) { body { padding: 12px; } main { padding: 24px; } }
`.replace(/\n\s*/g, '')

/** The text of the pages' `style` element, without characters that HTML would escape. */
export const pageStyle = style

const base = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; frame-ancestors 'none'`

/** What a page may load: its own style, and nothing else. */
export const pagePolicy = `${base}; form-action 'none'`

/** For a page with a form. A `form-action` would also stop the redirect that answers the form. */
export const formPolicy = base
