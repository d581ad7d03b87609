/** Files of services that people run themselves. */
import { createdAt as created_at, type ImportExample, exampleUrl as url } from './import-example.ts'

export const selfHostedImports: readonly ImportExample[] = [
  {
    title: 'YOURLS, SQL with keywords that differ only in case, one of them without a time',
    source: 'yourls',
    file: `INSERT INTO \`yrl_url\` (\`keyword\`,\`url\`,\`title\`,\`timestamp\`,\`ip\`,\`clicks\`) VALUES
('q7','${url}','Oolong','2025-03-09 08:15:00','192.0.2.44',9),
('Q7','${url}','It\\'s green','0000-00-00 00:00:00','',1);`,
    options: { timeZone: 'Europe/Vienna' },
    rows: [
      { line: 2, addresses: ['*/q7'], fields: { url, title: 'Oolong' }, clicks: 9 },
      {
        ...{ line: 3, addresses: ['*/Q7'], fields: { url, title: "It's green" }, clicks: 1 },
        ...{ created_at: null, losses: ['created_at'] },
      },
    ],
  },
  {
    title: 'YOURLS, CSV of the table',
    source: 'yourls',
    file: `keyword,url,title,timestamp,ip,clicks\nq7,${url},Tea,2025-03-09 07:15:00,192.0.2.1,9`,
    options: { timeZone: 'UTC' },
    rows: [{ line: 2, addresses: ['*/q7'], fields: { url, title: 'Tea' }, clicks: 9 }],
  },
  {
    title: 'YOURLS, CSV of the plugin',
    source: 'yourls',
    file: `source,target,hits\n/kw/,${url},3\n/a%2Fb/,mailto:a@tea.example,0`,
    rows: [
      { line: 2, addresses: ['*/kw'], created_at: null, clicks: 3, losses: ['created_at'] },
      {
        line: 3,
        addresses: ['*/a%2Fb'],
        fields: { url: 'mailto:a@tea.example' },
        created_at: null,
        clicks: 0,
        losses: ['created_at'],
      },
    ],
  },
  {
    title: 'YOURLS, JSON of the statistics',
    source: 'yourls',
    file: JSON.stringify({
      links: {
        link_1: {
          shorturl: 'http://sip.example/q%C3%A9',
          url,
          title: 'Tea',
          timestamp: '2025-03-09 07:15:00',
          ip: '192.0.2.1',
          clicks: '1,204',
        },
      },
      stats: { total_links: '1' },
    }),
    options: { timeZone: 'UTC' },
    rows: [{ addresses: ['*/qé'], fields: { url, title: 'Tea' }, clicks: 1204 }],
  },
  {
    title: 'Kutt, JSON of SQLite, whose end has no offset',
    source: 'kutt',
    file: JSON.stringify({
      data: [
        {
          address: 'Tea',
          link: 'https://sip.example/Tea',
          target: url,
          description: 'Green',
          visit_count: 4,
          password: true,
          banned: false,
          created_at: '2025-03-09T07:15:00.000Z',
          expire_in: '2027-01-31 22:59:00',
        },
        {
          address: 'x',
          link: { url: 'https://sip.example/x' },
          target: url,
          visit_count: 0,
          created_at,
          password: false,
        },
      ],
      total: 2,
    }),
    rows: [
      {
        addresses: ['sip.example/Tea'],
        fields: { url, title: 'Green', active_period_end_at: '2027-01-31T22:59:00.000Z', disabled: 'false' },
        clicks: 4,
        losses: ['password'],
      },
      { addresses: ['sip.example/x'], clicks: 0 },
    ],
  },
  {
    title: 'Kutt, SQL of PostgreSQL with hosts in a table of their own',
    source: 'kutt',
    file: `-- PostgreSQL database dump
INSERT INTO public.domains (id, address, homepage) VALUES (7, 'sip.example', NULL);
INSERT INTO public.links (id, address, target, visit_count, password, banned, domain_id, created_at) VALUES (1, 'Tea', '${url}\\', 4, '$2a$10$abc', true, 7, '2025-03-09 08:15:00+01');
INSERT INTO public.links (id, address, target, visit_count, password, banned, domain_id, created_at) VALUES (2, 'x', '${url}', 0, NULL, false, NULL, '2025-03-09 07:15:00+00');`,
    rows: [
      {
        line: 3,
        addresses: ['sip.example/Tea'],
        host: 'sip.example',
        fields: { url: `${url}\\`, disabled: 'true' },
        clicks: 4,
        losses: ['password'],
      },
      { line: 4, addresses: ['*/x'], fields: { url, disabled: 'false' }, clicks: 0 },
    ],
  },
  {
    title: 'Kutt, SQL of MySQL with the host in the row, and local times',
    source: 'kutt',
    file: `INSERT INTO \`links\` (\`id\`,\`domain\`,\`address\`,\`target\`,\`visit_count\`,\`created_at\`) VALUES (1,'sip.example','Tea','${url}',NULL,'2025-03-09 08:15:00');`,
    options: { timeZone: '+01:00' },
    rows: [{ line: 1, addresses: ['sip.example/Tea'], host: 'sip.example' }],
  },
  {
    title: 'Shlink, CSV of the web client',
    source: 'shlink',
    file: `createdAt,shortCode,shortUrl,longUrl,title,tags,visits\n2025-03-09T08:15:00+01:00,a%20b,https://sip.example/a%20b,${url},Tea,hot|green tea,7`,
    rows: [
      { line: 2, addresses: ['sip.example/a b'], fields: { url, title: 'Tea', tags: 'hot,green tea' }, clicks: 7 },
    ],
  },
  {
    title: 'Shlink, JSON with a legacy alias, a limit, an end, bots and rules',
    source: 'shlink',
    file: `{"shortUrls":{"data":[{"shortCode":"cup!",
 "shortUrl":"https://sip.example/cup!","longUrl":"${url}",
 "dateCreated":"2025-03-09T08:15:00+01:00","visitsSummary":{"total":2,"nonBots":1,"bots":1},"tags":["shop"],
 "meta":{"validSince":null,"validUntil":"2027-01-31T23:59:00+01:00","maxVisits":500},
 "domain":null,"title":null,"forwardQuery":true,"hasRedirectRules":true}]}}`,
    rows: [
      {
        addresses: ['sip.example/cup!'],
        fields: {
          ...{ url, tags: 'shop', active_period_end_at: '2027-01-31T22:59:00.000Z' },
          ...{ clicks_limit: '500', forward_query: 'true' },
        },
        ...{ clicks: 1, bots: 1, losses: ['rules'] },
      },
    ],
  },
  {
    title: 'Shlink, JSON lines with a page each, and without a short URL',
    source: 'shlink',
    file: [
      JSON.stringify({
        shortUrls: { data: [{ shortCode: 'a', domain: 'sip.example', longUrl: url, dateCreated: created_at }] },
      }),
      JSON.stringify({
        shortUrls: {
          data: [
            {
              shortCode: 'b',
              shortUrl: 'https://sip.example/b',
              longUrl: url,
              dateCreated: created_at,
              meta: { validSince: '2026-01-01T00:00:00+00:00', validUntil: null, maxVisits: null },
              visitsSummary: { total: 3, nonBots: 2, bots: 1 },
            },
          ],
        },
      }),
    ].join('\n'),
    rows: [
      { addresses: ['sip.example/a'], host: 'sip.example' },
      {
        addresses: ['sip.example/b'],
        fields: { url, active_period_start_at: '2026-01-01T00:00:00.000Z' },
        clicks: 2,
        bots: 1,
      },
    ],
  },
  {
    title: 'phpShort, CSV with translated names and the zone in the second line',
    source: 'phpshort',
    file: `Typ,Links\nDatum,2026-01-01 10:00:00 +01:00\nURL,https://sip.example/links/export\n" "\nLink,Ziel,Alias,Titel,Datum\nhttps://sip.example/Tea,${url},Tea,Grün,2025-03-09`,
    rows: [
      {
        line: 6,
        addresses: ['sip.example/Tea'],
        fields: { url, title: 'Grün' },
        created_at: '2025-03-08T23:00:00.000Z',
      },
    ],
  },
  {
    title: 'phpShort, JSON of an old version',
    source: 'phpshort',
    file: JSON.stringify({
      data: [
        {
          id: 1,
          alias: 'Tea',
          url,
          short_url: 'https://sip.example/Tea',
          title: 'Green',
          domain: { id: 2, name: 'sip.example' },
          disabled: 1,
          ends_at: '2027-01-01T00:00:00.000000Z',
          expiration_clicks: 0,
          redirect_password: true,
          targets: [],
          pixels: [{ id: 3 }],
          clicks: 6,
          created_at: '2025-03-09T07:15:00.000000Z',
        },
      ],
      links: { first: 'https://x.example', prev: null },
    }),
    rows: [
      {
        addresses: ['sip.example/Tea'],
        fields: { url, title: 'Green', active_period_end_at: '2027-01-01T00:00:00.000Z', disabled: 'true' },
        clicks: 6,
        losses: ['password', 'tracking'],
      },
    ],
  },
]
