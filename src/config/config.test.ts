import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newFolder } from '../../test/processes.ts'
import { StartupFailure } from '../errors.ts'
import { generateKey } from '../keys/key.ts'
import { type Config, readConfig, readStorageLocation } from './config.ts'

const key = generateKey()

/** Returns the error for each invalid variable. */
function errorsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof StartupFailure)
    return error.message.split('\n')
  }
}

test('requires no variable', () => {
  assert.deepEqual(readConfig({}), {
    listeners: [
      { name: 'api', prefix: '', host: '127.0.0.1', port: 3000, isPerWorker: false },
      { name: 'redirect', prefix: 'REDIRECT_', host: '127.0.0.1', port: 3080, isPerWorker: false },
      { name: 'ops', prefix: 'OPS_', host: '127.0.0.1', port: 3090, isPerWorker: true },
    ],
    storage: { engine: 'sqlite', path: 'data/waymark.db' },
    baseUrl: null,
    shortUrl: 'http://{domain}:3080',
    clicksSink: null,
    urlSchemes: [],
    staleFor: 3600,
    oidc: null,
    corsOrigins: [],
    bootstrapKey: null,
    rateLimit: 6000,
    trustProxy: false,
    logLevel: 'info',
    maxConnections: 10_000,
    clicksRetention: 730,
    historyDays: 400,
    geoipDb: null,
    countryHeader: null,
    proofHosts: new Map(),
    warnings: [],
    workers: 1,
  })
})

test('trims values and ignores empty variables', () => {
  assert.equal(readConfig({ PORT: ' ', HOST: '' }).listeners[0]?.port, 3000)
  assert.equal(readConfig({ PORT: ' 8080\n' }).listeners[0]?.port, 8080)
})

const oldEndpoint = { address: '203.0.113.7', port: 443 }

const good: [name: string, text: string, field: keyof Config, value: unknown][] = [
  ['WORKERS', '4', 'workers', 4],
  ['STALE_FOR', '0', 'staleFor', 0],
  ['CLICKS_RETENTION', '0', 'clicksRetention', 0],
  ['HISTORY_DAYS', '0', 'historyDays', 0],
  ['SHORT_URL', 'https://{domain}', 'shortUrl', 'https://{domain}'],
  ['SHORT_URL', 'HTTPS://{domain}:443/', 'shortUrl', 'https://{domain}'],
  ['SHORT_URL', 'http://{domain}:8080', 'shortUrl', 'http://{domain}:8080'],
  ['MAX_CONNECTIONS', '1', 'maxConnections', 1],
  ['DATABASE_URL', 'sqlite:a.db', 'storage', { engine: 'sqlite', path: 'a.db' }],
  ['DATABASE_URL', 'sqlite:../a b.db', 'storage', { engine: 'sqlite', path: '../a b.db' }],
  ['DATABASE_URL', 'sqlite:/var/a.db', 'storage', { engine: 'sqlite', path: '/var/a.db' }],
  ['DATABASE_URL', 'sqlite:///var/a.db', 'storage', { engine: 'sqlite', path: '/var/a.db' }],
  ['DATABASE_URL', 'sqlite:C:\\data\\a.db', 'storage', { engine: 'sqlite', path: 'C:\\data\\a.db' }],
  ['DATABASE_URL', 'postgres://a:b%40@c/d', 'storage', { engine: 'postgres', url: 'postgres://a:b%40@c/d', pool: 10 }],
  ['BASE_URL', 'https://links.example.com/', 'baseUrl', 'https://links.example.com'],
  ['BASE_URL', 'HTTPS://Bücher.example', 'baseUrl', 'https://xn--bcher-kva.example'],
  ['BASE_URL', 'http://10.0.0.1:8080', 'baseUrl', 'http://10.0.0.1:8080'],
  ['CORS_ORIGINS', '*', 'corsOrigins', '*'],
  ['URL_SCHEMES', 'whatsapp, Web+Slack', 'urlSchemes', ['whatsapp', 'web+slack']],
  ['CORS_ORIGINS', 'https://a.example, http://b:81', 'corsOrigins', ['https://a.example', 'http://b:81']],
  ['BOOTSTRAP_KEY', key, 'bootstrapKey', key],
  ['RATE_LIMIT', '0', 'rateLimit', 0],
  ['RATE_LIMIT', '1000000000', 'rateLimit', 1_000_000_000],
  ['TRUST_PROXY', 'off', 'trustProxy', false],
  ['TRUST_PROXY', '0', 'trustProxy', false],
  ['TRUST_PROXY', 'on', 'trustProxy', 1],
  ['TRUST_PROXY', '2', 'trustProxy', 2],
  ['TRUST_PROXY', '10.0.0.0/8, ::1,loopback', 'trustProxy', ['10.0.0.0/8', '::1', 'loopback']],
  ['TRUST_PROXY', 'fd00::/8', 'trustProxy', ['fd00::/8']],
  ['LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ['GEOIP_DB', '/var/lib/GeoIP/GeoLite2-Country.mmdb', 'geoipDb', '/var/lib/GeoIP/GeoLite2-Country.mmdb'],
  ['COUNTRY_HEADER', 'CF-IPCountry', 'countryHeader', 'cf-ipcountry'],
  ['PROOF_HOSTS', 'Old.example=203.0.113.7:443', 'proofHosts', new Map([['old.example', oldEndpoint]])],
  [
    'PROOF_HOSTS',
    'old.example=203.0.113.7:443, bücher.example=[fd00::1]:8080',
    'proofHosts',
    new Map([
      ['old.example', oldEndpoint],
      ['xn--bcher-kva.example', { address: 'fd00::1', port: 8080 }],
    ]),
  ],
]

for (const [name, text, field, value] of good) {
  test(`${name} accepts ${text.replace(key, 'a key')}`, () =>
    assert.deepEqual(readConfig({ [name]: text })[field], value))
}

const clickHouse = { kind: 'clickhouse', user: 'default', password: '', database: 'default', table: 'clicks' }

for (const [text, target] of [
  ['jsonl:out/clicks.jsonl', { kind: 'jsonl', path: 'out/clicks.jsonl' }],
  ['clickhouse://db.example', { ...clickHouse, url: 'http://db.example:8123' }],
  ['ClickHouse://db.example/', { ...clickHouse, url: 'http://db.example:8123' }],
  ['clickhouse://db.example?secure=1', { ...clickHouse, url: 'https://db.example:8443' }],
  ['clickhouse://db.example:443?secure=1', { ...clickHouse, url: 'https://db.example' }],
  [
    'clickhouse://[::1]:9123/stats?table=raw_clicks',
    { ...clickHouse, url: 'http://[::1]:9123', database: 'stats', table: 'raw_clicks' },
  ],
  ['clickhouse://waymark@db.example', { ...clickHouse, url: 'http://db.example:8123', user: 'waymark' }],
  [
    'clickhouse://way%40mark:p%C3%BC%2F%25@db.example',
    { ...clickHouse, url: 'http://db.example:8123', user: 'way@mark', password: 'pü/%' },
  ],
] as const) {
  test(`CLICKS_SINK accepts ${text}`, () =>
    assert.deepEqual(readConfig({ CLICKS_SINK: text }).clicksSink?.target, target))
}

test('has no sink by default, and puts the spool next to the database unless CLICKS_SPOOL is set', () => {
  const sinkOf = (env: Record<string, string>) => readConfig(env).clicksSink
  for (const env of [{}, { CLICKS_SINK: ' ' }, { CLICKS_SPOOL: 'a', CLICKS_SPOOL_MAX: '1' }])
    assert.equal(sinkOf(env), null)
  const env = { CLICKS_SINK: 'jsonl:clicks.jsonl' }
  const sink = sinkOf({ ...env, DATABASE_URL: 'sqlite:/srv/waymark.db' })
  assert.deepEqual([sink?.spool, sink?.spoolBytes], ['/srv/waymark.db-clicks-spool', 1_000_000_000])
  const postgres = { ...env, DATABASE_URL: 'postgres://localhost/waymark' }
  assert.equal(sinkOf(postgres)?.spool, 'data/clicks-spool')
  assert.equal(sinkOf({ ...postgres, CLICKS_SPOOL: '/var/spool/clicks' })?.spool, '/var/spool/clicks')
  assert.equal(sinkOf({ ...env, CLICKS_SPOOL_MAX: '20', WORKERS: '3' })?.spoolBytes, 6_666_666)
})

const places: [env: Record<string, string>, listener: number, place: object][] = [
  [{ HOST: '0.0.0.0' }, 0, { host: '0.0.0.0' }],
  [{ HOST: '::1' }, 0, { host: '::1' }],
  [{ HOST: '[::]' }, 0, { host: '::' }],
  [{ HOST: 'localhost' }, 0, { host: 'localhost' }],
  [{ HOST: 'links.example.com' }, 0, { host: 'links.example.com' }],
  [{ PORT: '0' }, 0, { port: 0 }],
  [{ PORT: '65535' }, 0, { port: 65_535 }],
  [{ OPS_HOST: '::' }, 2, { host: '::', port: 3090 }],
]

for (const [env, listener, place] of places) {
  test(`${Object.entries(env).join()} configures a listener`, () =>
    assert.partialDeepStrictEqual(readConfig(env).listeners[listener], place))
}

test('OPS_PORT=0 turns the ops listener off', () => {
  assert.deepEqual(
    readConfig({ OPS_PORT: '0', REDIRECT_PORT: '0' }).listeners.map(({ name }) => name),
    ['api'],
  )
})

test('rejects a PORT that collides with an ops listener', () => {
  const expected = (workers: number) => {
    const taken = workers === 1 ? 'OPS_PORT' : `one of the ${workers} ports from OPS_PORT`
    return [`PORT must not be ${taken}, 3090. Choose another port.`]
  }
  assert.deepEqual(errorsOf({ PORT: '3090' }), expected(1))
  assert.deepEqual(errorsOf({ PORT: '3092', WORKERS: '3' }), expected(3))
  assert.deepEqual(errorsOf({ PORT: '3090', HOST: 'localhost' }), expected(1))
  assert.deepEqual(errorsOf({ PORT: '3090', HOST: '192.0.2.1', OPS_HOST: '0.0.0.0' }), expected(1))
  assert.equal(errorsOf({ PORT: '3090', WORKERS: 'x' }).length, 1)
  for (const apart of [{ PORT: '3091' }, { PORT: '3089' }, { HOST: '192.0.2.1' }, { OPS_PORT: '0', PORT: '0' }]) {
    assert.deepEqual(errorsOf({ PORT: '3090', ...apart }), [])
  }
})

test('rejects a REDIRECT_PORT that collides, and includes it in short URLs', () => {
  const sentence = (name: string, other: string) => `${name} must not be ${other}. Choose another port.`
  assert.deepEqual(errorsOf({ REDIRECT_PORT: '3000' }), [sentence('PORT', 'REDIRECT_PORT, 3000')])
  assert.deepEqual(errorsOf({ REDIRECT_PORT: '3090' }), [sentence('REDIRECT_PORT', 'OPS_PORT, 3090')])
  assert.equal(readConfig({ REDIRECT_PORT: '8080' }).shortUrl, 'http://{domain}:8080')
  for (const port of ['80', '0']) assert.equal(readConfig({ REDIRECT_PORT: port }).shortUrl, 'http://{domain}')
})

test('limits OPS_PORT so that every worker has a port', () => {
  assert.equal(readConfig({ WORKERS: '3', OPS_PORT: '65533' }).listeners[2]?.port, 65_533)
  const sentence = 'OPS_PORT must be an integer from 0 to 65533, not "65534".'
  assert.deepEqual(errorsOf({ WORKERS: '3', OPS_PORT: '65534' }), [sentence])
})

const bad: [name: string, texts: string[], sentence: RegExp][] = [
  [
    'HOST',
    ['a b', 'http://a', '1.2.3.4:80', '.', '[x]', 'a/b'],
    /^HOST must be an IP address or host name to listen on, such as /,
  ],
  ['PORT', ['65536', '-1', '08', '3e3', '80.0', 'http'], /^PORT must be an integer from 0 to 65535, not "/],
  [
    'DATABASE_URL',
    'sqlite: sqlite::memory: sqlite:file:a.db?mode=memory sqlite://data/a.db mysql://a/b sqlite:a\0b'.split(' '),
    /^DATABASE_URL must be a database file, such as sqlite:data\/waymark\.db /,
  ],
  [
    'DATABASE_URL',
    ['/tmp/a.db'],
    /^DATABASE_URL must begin with sqlite: or postgres:\/\/\. Write sqlite:\/tmp\/a\.db\.$/,
  ],
  ['DATABASE_URL', ['waymark:hunter2@db/a', 'hunter2@db'], /^DATABASE_URL must be a database file/],
  ['DATABASE_POOL', ['0', '101', '-1', 'many'], /^DATABASE_POOL must be an integer from 1 to 100, not "/],
  [
    'BASE_URL',
    ['links.example.com', 'ftp://a', 'https://', 'https://a?b', 'https://u:p@a', 'https://a b', 'https://a/waymark'],
    /^BASE_URL must be an http or https URL without a path, query or fragment, such as \S+ Waymark can't be served under a path\.$/,
  ],
  ['BOOTSTRAP_KEY', ['hunter2', `wm_${'0'.repeat(49)}`], /^BOOTSTRAP_KEY is not a valid API key(?!.*000)/],
  [
    'CORS_ORIGINS',
    ['https://a.example/', 'a.example', 'https://A.example', 'null', 'https://a.example,*'],
    /^CORS_ORIGINS must be "\*", or a comma-separated list of origins such as /,
  ],
  [
    'URL_SCHEMES',
    ['a,,b', 'whatsapp:', '1a', 'ä'],
    /^URL_SCHEMES must be a comma-separated list of URL schemes, such as /,
  ],
  [
    'URL_SCHEMES',
    'javascript data vbscript file blob about whatsapp,JavaScript'.split(' '),
    /^URL_SCHEMES must not contain [a-z]+, which is not safe as a destination\.$/,
  ],
  [
    'SHORT_URL',
    ['https://go.acme.com', '{domain}', 'ftp://{domain}', 'https://{domain}/s', 'https://{domain}:99999'],
    /^SHORT_URL must be https:\/\/\{domain\} or http:\/\/\{domain\}, /,
  ],
  [
    'COUNTRY_HEADER',
    ['CF IPCountry', 'x:', 'a,b', 'länd', 'x'.repeat(101)],
    /^COUNTRY_HEADER must be a header name, such as /,
  ],
  [
    'PROOF_HOSTS',
    [
      ...['old.example', '203.0.113.7:443', 'old.example=203.0.113.7', 'old.example=203.0.113.7:0'],
      ...[
        'old.example=203.0.113.7:65536',
        'old.example=new.example:443',
        'old.example=fd00::1:443',
        '=203.0.113.7:443',
      ],
      ...['old.example=[203.0.113.7]:443', 'old_example.=203.0.113.7:443', 'old.example=0177.0.0.1:443'],
      ...['a.example=203.0.113.7:443,', 'https://old.example=203.0.113.7:443', '10.0.0.1=203.0.113.7:443'],
    ],
    /^PROOF_HOSTS must be a comma-separated list such as old\.host=203\.0\.113\.7:443, /,
  ],
  [
    'CLICKS_SINK',
    ['clicks.jsonl', 'jsonl:', 'jsonl:data/', 'jsonl:a\0b', 'https://db.example', 'on'],
    /^CLICKS_SINK must be a file, such as jsonl:\S+, or a ClickHouse server, such as clickhouse:\S+\.$/,
  ],
  [
    'CLICKS_SINK',
    [
      ...['', '//', 'db.example', '//a b', '//u:hunter2@', '//u:hunter2@db/a/b', '//u:hunter2@db/a-b'],
      ...['//u:hunter2@db:99999', '//u:hunt@er2@db', '//u:hunter2#@db', '//u:hunter2%@db', '//u:hunter2%FF@db'],
      ...['//u:hunter2%0A@db', '//u%FF:hunter2@db'],
    ].map((rest) => `clickhouse:${rest}`),
    /^CLICKS_SINK must have the form clickhouse:\S+ Percent-encode [^\n]*\.$/,
  ],
  ['CLICKS_SINK', ['clickhouse://u:hunter2@db?tabel=a'], /^CLICKS_SINK has an unknown parameter: tabel\.$/],
  [
    'CLICKS_SINK',
    ['clickhouse://u:hunter2@db?secure=yes'],
    /^CLICKS_SINK has an invalid parameter: secure must be 0 or 1\.$/,
  ],
  [
    'CLICKS_SINK',
    ['clickhouse://u:hunter2@db?table=a;b', 'clickhouse://u:hunter2@db?table='],
    /^CLICKS_SINK has an invalid parameter: table must be a table name\.$/,
  ],
  ['CLICKS_SPOOL', ['a\0b'], /^CLICKS_SPOOL must be the path of a folder, such as \S+\.$/],
  ['CLICKS_SPOOL_MAX', ['0', '1GB'], /^CLICKS_SPOOL_MAX must be an integer from 1 to 1000000, not "/],
  ['CLICKS_RETENTION', ['-1', '2y'], /^CLICKS_RETENTION must be an integer from 0 to 36500, not "/],
  ['HISTORY_DAYS', ['-1', '36501'], /^HISTORY_DAYS must be an integer from 0 to 36500, not "/],
  ['STALE_FOR', ['-1', '1h'], /^STALE_FOR must be an integer from 0 to 31536000, not "/],
  ['REDIRECT_PORT', ['65536', 'off'], /^REDIRECT_PORT must be an integer from 0 to 65535, not "/],
  ['OPS_PORT', ['65536', 'off'], /^OPS_PORT must be an integer from 0 to 65535, not "/],
  ['WORKERS', ['0', '65', 'auto'], /^WORKERS must be an integer from 1 to 64, not "/],
  ['MAX_CONNECTIONS', ['0', '1000001'], /^MAX_CONNECTIONS must be an integer from 1 to 1000000, not "/],
  ['RATE_LIMIT', ['1000000001', '-1', 'off', '1.5'], /^RATE_LIMIT must be an integer from 0 to 1000000000, not "/],
  [
    'TRUST_PROXY',
    '100 -1 maybe true no 10.0.0.0/33 ::1/129 10.0.0.0/8/8 10.0.0.0/0 999.1.1.1 10.0.0.1, 1.2.3'.split(' '),
    /^TRUST_PROXY must be "off", "on" \(one proxy\), the number of proxies, or a comma-separated list/,
  ],
  ['LOG_LEVEL', ['loud', 'INFO'], /^LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent\.$/],
]

for (const [name, texts, sentence] of bad) {
  test(`${name} rejects other values, such as ${JSON.stringify(texts[0])}, with one sentence that has no password`, () => {
    for (const text of texts) {
      const [error = '', ...more] = errorsOf({ [name]: text })
      assert.match(error, sentence, text)
      assert.match(error, /\.$/)
      assert.doesNotMatch(error, /hunt/)
      assert.deepEqual(more, [])
    }
  })
}

test('DATABASE_POOL applies only to PostgreSQL', (t) => {
  const file = fileWith(t, 'postgres://localhost/links\n')
  assert.deepEqual(readStorageLocation({ DATABASE_URL_FILE: file, DATABASE_POOL: '100' }), {
    engine: 'postgres',
    url: 'postgres://localhost/links',
    pool: 100,
  })
  assert.deepEqual(readStorageLocation({ DATABASE_POOL: '1' }), { engine: 'sqlite', path: 'data/waymark.db' })
})

test('reports all errors together, one per line', () => {
  const invalid = Object.fromEntries(bad.map(([name, [text = '']]) => [name, text]))
  const named = errorsOf(invalid).map((line) => line.split(' ')[0])
  assert.deepEqual(named.sort(), Object.keys(invalid).sort())
})

test('reports an unusable country database with the other errors', () => {
  const check = (path: string) => {
    throw new Error(`must not be ${path}.`)
  }
  assert.throws(() => readConfig({ PORT: 'x', GEOIP_DB: 'a.mmdb' }, check), {
    message: 'PORT must be an integer from 0 to 65535, not "x".\nGEOIP_DB must not be a.mmdb.',
  })
  assert.equal(readConfig({}, check).geoipDb, null)
})

test('reads the storage location even if other variables are invalid', () => {
  assert.deepEqual(readStorageLocation({ DATABASE_URL: 'sqlite:a.db', PORT: 'x' }), { engine: 'sqlite', path: 'a.db' })
  assert.throws(() => readStorageLocation({ DATABASE_URL: 'x', PORT: 'x' }), /^[^\n]*DATABASE_URL must be[^\n]*$/)
})

test('reads X from the file in X_FILE, but rejects X_FILE together with X, empty files and unreadable files', (t) => {
  assert.equal(readConfig({ BOOTSTRAP_KEY_FILE: fileWith(t, `${key}\n`) }).bootstrapKey, key)
  assert.deepEqual(errorsOf({ PORT: '1', PORT_FILE: fileWith(t, '2') }), [
    'PORT and PORT_FILE are both set. Set only one of them.',
  ])
  assert.deepEqual(errorsOf({ BOOTSTRAP_KEY_FILE: fileWith(t, '\n') }), [
    "BOOTSTRAP_KEY can't be read: the file in BOOTSTRAP_KEY_FILE is empty.",
  ])
  assert.match(
    errorsOf({ BOOTSTRAP_KEY_FILE: join(tmpdir(), 'no', 'such', 'file') }).join(),
    /^BOOTSTRAP_KEY can't be read from the file in BOOTSTRAP_KEY_FILE: ENOENT.*\.$/,
  )
})

test('warns of a misspelled variable and suggests the right one', () => {
  for (const [name, meant] of [
    ['CLICKS_RETENTON', 'CLICKS_RETENTION'],
    ['clicks_sink', 'CLICKS_SINK'],
    ['CLICK_SPOOL', 'CLICKS_SPOOL'],
    ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
    ['TRUST_PROXIES', undefined],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['SHORT_URI', 'SHORT_URL'],
  ] as const) {
    const warning = `Ignoring unknown variable ${name}. Did you mean ${meant}?`
    assert.deepEqual(readConfig({ [name]: '' }).warnings, meant === undefined ? [] : [warning])
  }
})

test('warns of any unknown variable that starts with CLICKS_, but of no known one or one of other programs', () => {
  const warningsOf = (...names: string[]) => readConfig(Object.fromEntries(names.map((name) => [name, 'x']))).warnings
  assert.deepEqual(warningsOf('CLICKS_DESTINATION'), [
    'Ignoring unknown variable CLICKS_DESTINATION. docs/configuration.md lists all variables.',
  ])
  const others = ['PATH', 'HOSTS', 'PORTS', 'POST', 'PGHOST', 'DATABASE_NAME', 'APP_HOST', 'WAYMARK_HOST', 'NODE_ENV']
  assert.deepEqual(warningsOf(...others, 'CLICKS_SPOOL', 'OPS_HOST'), [])
  assert.deepEqual(readConfig({ CLICKS_SINK_FILE: '' }).warnings, [])
})

function fileWith(t: TestContext, text: string): string {
  const file = join(newFolder(t), 'value')
  writeFileSync(file, text)
  return file
}
