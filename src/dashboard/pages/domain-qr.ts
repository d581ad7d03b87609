/** The page for the look of a domain's QR codes: colors, quiet zone and logo. */

import type { Domain } from '../../domains/schema.ts'
import { domainRecords } from '../../domains/store.ts'
import { found } from '../../errors.ts'
import { type Html, html } from '../../http/html.ts'
import type { Semaphore } from '../../lib/semaphore.ts'
import { sendQr } from '../../links/qr.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { type LogoProblem, maxLogoFileBytes, readLogo } from '../../qr/logo.ts'
import { findQrStyle, type QrStyleChange, removeQrStyle, storeQrStyle } from '../../qr/store.ts'
import { plainStyle, type QrStyle, qrStyleForm, qrStyleLabels } from '../../qr/style.ts'
import type { Storage } from '../../storage/port.ts'
import { Refusal, type Violation } from '../../violations.ts'
import { idParam, type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { linkButton, submitButton } from '../parts/buttons.ts'
import { checkbox, colorField, FormState, fileField, textField } from '../parts/fields.ts'
import { confirmation, confirmLink } from '../parts/messages.ts'

/** The alias of the code that the page shows. Generated aliases are as long. */
const exampleAlias = 'example'

interface Services {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
  readonly semaphores: { readonly logos: Semaphore }
}

export function addDomainQrPages(pages: Pages, services: Services): void {
  const { storage, shortUrl } = services
  const path = '/app/domains/:id/qr'
  const formatExample = ({ name }: Domain) => shortUrl(name, exampleAlias)

  pages.get(path, 'domains:write', async (request) => {
    const { domain, style } = await requested(request, services)
    const { dark, background, margin } = style ?? plainStyle
    return stylePage(domain, style, new FormState({ dark, background, margin }))
  })

  pages.postFiles(path, 'domains:write', async (request) => {
    const { domain, style } = await requested(request, services)
    const saved = await readStyle(request, style ?? plainStyle, formatExample(domain), services.semaphores.logos)
    if (Array.isArray(saved)) {
      return { ...stylePage(domain, style, new FormState(request.fields, saved)), status: 422 }
    }
    found((await storeQrStyle(storage, request.actor, domain.id, saved)) || undefined, 'domain')
    return new Redirect(formatPath(domain), 'changes')
  })

  pages.get(`${path}/reset`, 'domains:write', async (request) => {
    const { domain, style } = await requested(request, services)
    return resetPage(domain, style?.logo != null)
  })

  pages.post(`${path}/reset`, 'domains:write', async (request) => {
    const { domain } = await requested(request, services)
    await removeQrStyle(storage, request.actor, domain.id)
    return new Redirect(formatPath(domain), 'changes')
  })

  pages.getFile(`${path}/example`, 'domains:read', async (request) => {
    const { domain, style } = await requested(request, services)
    const image = {
      name: domain.name,
      shortUrl: formatExample(domain),
      query: {},
      style,
      disposition: 'inline',
    } as const
    return sendQr(request.exchange, { ...image, headers: { 'cache-control': 'no-store' } }, null)
  })
}

function formatPath({ id }: Domain): string {
  return `/app/domains/${id}/qr`
}

async function requested(request: PageRequest, { storage }: Services) {
  const id = idParam(request, 'domain')
  const { record: domain } = found(await domainRecords.find(storage, request.account, id), 'domain')
  return { domain, style: await findQrStyle(storage, request.account, id) }
}

/** Returns the style that the form describes, or its violations. `text` is a short URL of the domain. */
async function readStyle(
  { account, fields: { logo: sent, remove_logo, ...fields } }: PageRequest,
  before: QrStyle,
  text: string,
  logos: Semaphore,
): Promise<QrStyleChange | Violation[]> {
  const { values, violations } = qrStyleForm.read(fields)
  const file = readFile(sent)
  if (file instanceof Refusal) return [...violations, file.at('logo')]
  if (violations.length > 0) return file === null ? [...violations] : [...violations, chooseAgain.at('logo')]
  const { logo: _, ...style } = { ...plainStyle, ...values }
  const kept = remove_logo === 'true' ? null : before.logo
  if (file === null && kept === null) return before.logo === null ? style : { ...style, logo: null }
  const request = { ...style, file: file ?? (kept as Buffer), text }
  const read = await logos.run(() => readLogo(request), String(account))
  if (typeof read === 'string') return [logoRefusal(problems[read]).at('logo')]
  // Someone else may have stored another logo meanwhile.
  return file === null ? style : { ...style, logo: read }
}

const problems: Readonly<Record<LogoProblem, string>> = {
  type: 'Choose a PNG, JPEG or SVG file.',
  size: 'The image has too many pixels. Choose one with at most 2,048 × 2,048 pixels.',
  damaged: 'The file can’t be read as an image. Save the image again as PNG, and choose that file.',
  empty: 'The image shows nothing. If it is an SVG with text, convert the text to paths.',
  unreadable: 'Scanners can’t read the code with this logo. Choose a simpler logo.',
}

const chooseAgain = logoRefusal('Choose the file again, because browsers don’t keep it.')

function logoRefusal(reason: string): Refusal {
  return new Refusal('not_allowed.file', { reason })
}

/** Returns the content of the chosen file; null without a file. */
function readFile(sent: unknown): Buffer | Refusal | null {
  if (sent === undefined || sent === '') return null
  if (!(sent instanceof Buffer)) return logoRefusal('Choose a single file.')
  if (sent.length === 0) return logoRefusal('The file is empty. Choose another file.')
  return sent.length > maxLogoFileBytes ? logoRefusal('The file is larger than 256 KB. Choose a smaller file.') : sent
}

function stylePage(domain: Domain, stored: QrStyle | undefined, state: FormState): PageContent {
  const path = formatPath(domain)
  const reset = confirmLink('Reset to black on white', `${path}/reset`)
  const body = html`<div class="qr-style">${preview(domain)}
<div class="stack"><form method="post" action="${path}" enctype="multipart/form-data" class="form" data-guard novalidate>
${state.withErrors(controls(state, stored?.logo != null))}
<div class="actions">${submitButton({ label: 'Save' })}${linkButton({ label: 'Cancel', href: `/app/domains/${domain.id}` })}</div></form>
${stored === undefined ? null : html`<div class="actions">${reset}</div>`}</div></div>`
  const heading = html`QR codes of <bdi>${domain.name_unicode}</bdi>`
  return { title: `QR codes of ${domain.name_unicode}`, heading, section: 'domains', body }
}

function controls(state: FormState, hasLogo: boolean): Html {
  const colors = html`<div class="colors">${colorField(state, { name: 'dark', label: qrStyleLabels.dark })}
${colorField(state, { name: 'background', label: qrStyleLabels.background })}</div>`
  const margin = textField(state, {
    name: 'margin',
    label: qrStyleLabels.margin,
    type: 'number',
    help: 'The empty margin on each side, from 0 to 10 modules, the squares of the code. Scanners need 4. Choose less only if you print the code on an empty area of the same color.',
  })
  const logo = fileField(state, {
    name: 'logo',
    label: hasLogo ? 'New logo' : 'Logo',
    accept: '.png,.jpg,.jpeg,.svg,image/png,image/jpeg,image/svg+xml',
    help: 'PNG, JPEG or SVG, up to 256 KB. It appears in the center of each code. Convert text in an SVG to paths.',
  })
  const removal = checkbox(state, { name: 'remove_logo', label: 'Remove the logo' })
  return html`${colors}${margin}${logo}${hasLogo ? removal : null}`
}

function preview({ id, name_unicode }: Domain): Html {
  return html`<section class="stack"><h2>Saved style</h2>
<img src="/app/domains/${id}/qr/example" width="240" height="240" alt="QR code for an example link on ${name_unicode}">
<p class="muted">An example code. Every link on this domain uses this style. The API returns plain codes.</p></section>`
}

function resetPage(domain: Domain, hasLogo: boolean): PageContent {
  const name = domain.name_unicode
  const loss = hasLogo ? 'This deletes the logo. ' : ''
  return confirmation({
    title: `Reset the QR codes of ${name}?`,
    section: 'domains',
    action: `${formatPath(domain)}/reset`,
    consequences: [`${loss}Codes on link pages and in downloads become black on white. Printed codes keep working.`],
    verb: 'Reset QR codes',
    cancel: formatPath(domain),
  })
}
