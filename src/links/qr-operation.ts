import type { Operation } from '../api/operation.ts'
import { form, optional, type Rule } from '../forms/form.ts'
import { Type } from '../forms/json-schema.ts'
import { integerFrom, oneOf } from '../forms/rules.ts'
import { levels } from './qr.ts'
import { linkOperations } from './schema.ts'

const formats = ['svg', 'png'] as const
const [minSize, maxSize, maxMargin] = [64, 2048, 16]

const between = (minimum: number, maximum: number, description: string): Rule<number> => ({
  schema: Type.Integer({ minimum, maximum, description }),
  parse: (text, label) => integerFrom(minimum, maximum, text, label),
})

export const qrQuery = form({
  format: optional(oneOf(formats, 'SVG, which scales to any size, or PNG.'), 'svg'),
  size: optional(between(minSize, maxSize, 'Width and height in pixels, at least one for each module.'), 512),
  margin: optional(
    between(0, maxMargin, 'The white on each side, in modules: the squares that a code consists of.'),
    4,
  ),
  level: optional(oneOf(levels, 'How much of the code may be damaged: about 7 (L), 15 (M), 25 (Q) or 30 % (H).'), 'M'),
})

export const showLinkQr: Operation = {
  id: 'showLinkQr',
  method: 'GET',
  path: '/links/:id/qr',
  tag: linkOperations.show.tag,
  summary: 'Show the QR code of a link',
  description:
    'The short URL as a QR code: black on white, as a picture. A long short URL has more modules. If `size` or `level` does not fit them, the error names the one that does.',
  scope: 'links:read',
  query: qrQuery,
  headers: ['If-Match', 'If-None-Match'],
  refused: { format: 'gif', size: '4096' },
  success: {
    status: 200,
    description: 'The picture.',
    media: { 'image/svg+xml': { schema: Type.String() }, 'image/png': {} },
    headers: ['ETag', 'Content-Disposition', 'Content-Security-Policy'],
  },
  failures: ['not_found', 'precondition_failed', 'validation_failed'],
}
