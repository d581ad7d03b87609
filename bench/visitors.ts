/**
 * What visitors send beside the address: as many browsers as a busy service meets.
 */

const systems = [
  'Windows NT 10.0; Win64; x64',
  'Macintosh; Intel Mac OS X 10_15_7',
  'X11; Linux x86_64',
  'Linux; Android 16; K',
  'X11; CrOS x86_64 14541.0.0',
]
const languages = ['en-US,en;q=0.9', 'de-DE,de;q=0.9,en;q=0.8', 'fr-FR,fr;q=0.9', 'ja,en-US;q=0.9', 'pt-BR,pt;q=0.9']
const referrers = ['', '', 'https://news.example/', 'https://mail.example/', 'https://social.example/feed']
const versions = Array.from({ length: 20 }, (_, at) => 125 + at)

/** Headers of people, a hundred browsers in many languages; ready to be sent. */
export const peoplesHeads: readonly string[] = systems.flatMap((system, at) =>
  versions.map((version) => {
    const tail = 'AppleWebKit/537.36 (KHTML, like Gecko)'
    const agent = `Mozilla/5.0 (${system}) ${tail} Chrome/${version}.0.0.0 Safari/537.36`
    const language = languages[(at + version) % languages.length] as string
    return headOf(agent, language, referrers[version % referrers.length] as string)
  }),
)

function headOf(agent: string, language: string, referrer: string): string {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
  const referring = referrer === '' ? '' : `Referer: ${referrer}\r\n`
  return `User-Agent: ${agent}\r\nAccept: ${accept}\r\nAccept-Language: ${language}\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n${referring}Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n`
}
