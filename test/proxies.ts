/** The proxy files of deploy/ with the real Caddy and nginx, where they are installed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Bench, eventually, freePort, newFolder, startProgram, type Variables } from './processes.ts'
import { repository } from './scripts.ts'

/** The API's host in both files. */
export const apiName = 'links.example.com'

export interface RunningProxy {
  /** Sends a request over HTTPS. Rejects if the proxy has no trusted certificate for the name. */
  send(method: string, url: string, headers?: IncomingHttpHeaders): Promise<Response>
  stop(): Promise<void>
}

interface Response {
  readonly status: number
  readonly location: string | undefined
}

/** Addresses by the variables of the Caddyfile. */
export type Upstreams = Readonly<
  Record<'WAYMARK_API' | 'WAYMARK_VISITORS' | 'WAYMARK_OPS' | 'WAYMARK_OPS_PORT', string>
>

/** Returns the path of a program; undefined if it isn't installed. Debian's nginx isn't on the PATH of every user. */
function pathOf(program: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  return folders.map((folder) => join(folder, program)).find(existsSync)
}

/** Why the tests of a program can't run here; false if they can. */
export function missing(program: string): string | false {
  return pathOf(program) === undefined && `${program} is not installed (apt-get install ${program})`
}

/** Starts Caddy with deploy/Caddyfile, and its certificates in `storage`. */
export async function startCaddy(t: Bench, storage: string, upstreams: Upstreams): Promise<RunningProxy> {
  const [httpPort, port, askPort] = [await freePort(), await freePort(), await freePort()]
  const options = `admin off\nhttp_port ${httpPort}\nhttps_port ${port}\nlocal_certs\nskip_install_trust\nstorage file_system ${storage}`
  const arguments_ = ['run', '--adapter', 'caddyfile', '--config', 'deploy/Caddyfile']
  const variables = { ...upstreams, WAYMARK_HOST: apiName, ASK_PORT: String(askPort), CADDY_OPTIONS: options }
  return startProxy(t, ['caddy', ...arguments_], variables, port, {
    ca: join(storage, 'pki/authorities/local/root.crt'),
  })
}

/** Starts nginx with deploy/nginx.conf, in which only addresses and certificates are replaced. */
export async function startNginx(t: Bench, upstreams: Upstreams): Promise<RunningProxy> {
  const [folder, port, httpPort] = [newFolder(t), await freePort(), await freePort()]
  const certificate = fileURLToPath(new URL('tls/server.crt', import.meta.url))
  const site = readFileSync(join(repository, 'deploy/nginx.conf'), 'utf8')
    .replace(/(?: +server 10\.0\.0\.1.:3000( .*)\n)+/, (_, options) => serversOf(upstreams.WAYMARK_API, options))
    .replace(/(?: +server 10\.0\.0\.1.:3080( .*)\n)+/, (_, options) => serversOf(upstreams.WAYMARK_VISITORS, options))
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replace('listen 80', `listen 127.0.0.1:${httpPort}`)
    .replace(/(ssl_certificate +).*;/g, `$1${certificate};`)
    .replace(/(ssl_certificate_key +).*;/g, `$1${certificate.replace('.crt', '.key')};`)
  writeFileSync(join(folder, 'site.conf'), site)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const main = `daemon off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${paths.join(' ')} include ${folder}/site.conf; }`
  writeFileSync(join(folder, 'nginx.conf'), main)
  const command = [pathOf('nginx') ?? '', '-c', `${folder}/nginx.conf`, '-p', folder, '-e', 'stderr']
  return startProxy(t, command, {}, port, { ca: certificate, checkServerIdentity: () => undefined })
}

function serversOf(addresses: string, options: string): string {
  return addresses
    .split(' ')
    .map((address) => `    server ${address}${options}\n`)
    .join('')
}

interface Trust {
  /** The file with the certificate of the authority, which may not exist yet. */
  readonly ca: string
  /** Given if the certificate is for other names. */
  readonly checkServerIdentity?: () => undefined
}

/** Starts a proxy. Resolves when it serves the API. */
async function startProxy(
  t: Bench,
  command: readonly string[],
  variables: Variables,
  port: number,
  { ca, ...trust }: Trust,
): Promise<RunningProxy> {
  const running = startProgram(t, command, variables)
  const send: RunningProxy['send'] = (method, url, sent) => {
    const { hostname: servername, pathname, search } = new URL(url)
    const headers = { host: servername, 'user-agent': browser, ...sent }
    const target = { host: '127.0.0.1', port, servername, method, path: pathname + search, headers, agent: false }
    // Waymark's longest heads are larger than Node's default.
    const options = { ...target, ca: readFileSync(ca), maxHeaderSize: 65_536, ...trust }
    return new Promise((resolve, reject) => {
      const outgoing = request(options, (response) => {
        response.resume()
        resolve({ status: response.statusCode as number, location: response.headers.location })
      })
      outgoing.on('error', reject).end()
    })
  }
  const isUp = () =>
    send('GET', `https://${apiName}/health`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await eventually(async () => existsSync(ca) && (await isUp()))
  return {
    send,
    stop: async () => {
      running.child.kill('SIGTERM')
      await running.ended
    },
  }
}

const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0'
