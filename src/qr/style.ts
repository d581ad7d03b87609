import { form, type LabelsOf, type Rule, required } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { integer } from '../forms/rules.ts'
import { Refusal, type Violation } from '../violations.ts'
import { type Look, parseColor, plainLook } from './code.ts'

/** How the QR codes of a domain look. */
export interface QrStyle extends Look {
  /** The smallest empty margin on each side, in modules. */
  readonly margin: number
}

/** A style in a file or an event, with the logo in Base64. */
export type StoredQrStyle = Omit<QrStyle, 'logo'> & { readonly logo: string | null }

/** Returns the style for a file or an event. */
export function storedStyle({ logo, ...style }: QrStyle): StoredQrStyle {
  return { ...style, logo: logo === null ? null : logo.toString('base64') }
}

export const plainStyle: QrStyle = { ...plainLook, margin: 4 }

const color: Rule<string> = {
  schema: Type.String({ pattern: '^#[0-9a-fA-F]{6}$' }),
  parse: (text) => (/^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : new Refusal('not_allowed.color')),
}

export const qrStyleForm = form(
  {
    dark: required(color),
    background: required(color),
    margin: required(integer({ minimum: 0, maximum: 10, description: 'In modules.' })),
  },
  [],
  contrastViolations,
)

export const qrStyleLabels = {
  dark: 'Code color',
  background: 'Background color',
  margin: 'Quiet zone',
} as const satisfies LabelsOf<typeof qrStyleForm>

/** The smallest contrast ratio of WCAG 2 (1.4.3), which decides whether a pale code can be read. */
const minRatio = 4
/** The smallest symbol contrast of ISO/IEC 15415, grade C, which decides whether the background is light enough. */
const minSymbolContrast = 0.4

/** Returns the violation of colors that scanners can't read; none otherwise. */
function contrastViolations({ dark, background }: Omit<QrStyle, 'logo'>): Violation[] {
  const [dim, light] = [computeLuminance(dark), computeLuminance(background)]
  if (dim >= light) return [new Refusal('not_allowed.inverted').at('dark')]
  const ratio = (light + 0.05) / (dim + 0.05)
  if (ratio < minRatio) return [new Refusal('not_allowed.pale', { ratio: Math.floor(ratio * 10) / 10 }).at('dark')]
  return light - dim < minSymbolContrast ? [new Refusal('not_allowed.dim').at('background')] : []
}

/** Returns the relative luminance of a color, from 0 to 1 (WCAG 2). It is the reflectance of a printed color. */
function computeLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [...parseColor(color)].map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
