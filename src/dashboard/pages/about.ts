/** The version, the account, and the sources of data. */
import { html } from '../../http/html.ts'
import { version } from '../../version.ts'
import type { Pages } from '../pages.ts'

/** Adds `/app/about`. */
export function addAboutPage(pages: Pages): void {
  pages.get('/app/about', async ({ session }) => ({
    title: 'About',
    heading: 'About this Waymark',
    place: 'about',
    body: html`<dl class="facts">
<dt>Version</dt><dd>${version}</dd>
<dt>Account</dt><dd><bdi>${session.account.name}</bdi> <span class="muted">(ID ${session.account.id})</span></dd>
<dt>API</dt><dd><a href="/docs">Interactive reference</a> · <a href="/openapi.json">OpenAPI document</a></dd>
<dt>Countries</dt><dd><a href="https://location.ipfire.org/" rel="noreferrer">IPFire Location Database</a> (<a href="https://creativecommons.org/licenses/by-sa/4.0/" rel="noreferrer">CC BY-SA 4.0</a>, converted to another format), unless <code>GEOIP_DB</code> names another database</dd>
</dl>
<p>Waymark keeps no address and no user agent of the people who follow your links.</p>`,
  }))
}
