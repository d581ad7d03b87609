import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** One bit a pixel, shades of grey, and the only methods that there are. */
const kind = [1, 0, 0, 0, 0]

/**
 * A picture in black and white as PNG (ISO/IEC 15948). Each line has `width` bits from the left, 1 for white, in whole
 * bytes.
 */
export async function pngOf(width: number, lines: readonly Buffer[]): Promise<Buffer> {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(lines.length, 4)
  header.set(kind, 8)
  const unfiltered = Buffer.of(0)
  const data = await promisify(deflate)(Buffer.concat(lines.flatMap((line) => [unfiltered, line])))
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  const named = Buffer.concat([Buffer.from(type), data])
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}
