/** Files of companies, and tables with columns of any names. */
import { createdAt as created_at, type ImportExample, exampleUrl as url } from './import-example.ts'

export const hostedImports: readonly ImportExample[] = [
  {
    title: 'Bitly, CSV of the Links page, with two addresses of a link and a thousands separator',
    source: 'bitly',
    file: `Link,Custom Link,Date created,Title,Destination URL,Engagements,Status\nhttps://sip.example/4kQz9L,https://sip.example/Tea-Menu,2025-03-09T07:15:00+0000,Tea,${url},"2,048",Active`,
    rows: [
      {
        ...{ line: 2, addresses: ['sip.example/Tea-Menu', 'sip.example/4kQz9L'], clicks: 2048 },
        fields: { url, title: 'Tea', archived: 'false' },
      },
    ],
  },
  {
    title: 'Bitly, CSV like the API',
    source: 'bitly',
    file: `created_at,link,custom_bitlink,long_url,title,archived\n2025-03-09T07:15:00+0000,sip.example/4k,sip.example/Tea,${url},Tea,true`,
    rows: [
      { line: 2, addresses: ['sip.example/Tea', 'sip.example/4k'], fields: { url, title: 'Tea', archived: 'true' } },
    ],
  },
  {
    title: 'Bitly, CSV of deleted links',
    source: 'bitly',
    file: `Link,Custom Link,Date created,Title,Destination URL,Engagements,Status\nhttps://sip.example/4k,,2025-03-09T07:15:00+0000,,${url},,Deleted`,
    rows: [{ line: 2, addresses: ['sip.example/4k'], fields: { url, archived: 'true' } }],
  },
  {
    title: 'Bitly, JSON with a control character in a title, and a link without a URL',
    source: 'bitly',
    file: `{"links":[${JSON.stringify({
      link: 'https://sip.example/4k',
      custom_bitlinks: ['https://sip.example/Tea', 'https://sip.example/tea-2'],
      created_at: '2025-03-09T07:15:00+0000',
      long_url: url,
      title: 'Te~a',
      tags: ['hot', 'green'],
      archived: false,
      deeplinks: [{ os: 'ios' }],
    }).replace(
      '~',
      '\u0002\n',
    )},${JSON.stringify({ link: 'https://sip.example/x', custom_bitlinks: [] })}],"pagination":{"total":2}}`,
    rows: [
      {
        addresses: ['sip.example/Tea', 'sip.example/tea-2', 'sip.example/4k'],
        fields: { url, title: 'Tea', tags: 'hot,green', archived: 'false' },
        losses: ['rules'],
      },
      { addresses: ['sip.example/x'], fields: { url: '' }, created_at: null, losses: ['created_at'] },
    ],
  },
  {
    title: 'Dub, CSV',
    source: 'dub',
    file: `Short link,Destination URL,Clicks,Created at,Tags,Archived,Leads,Revenue\nhttps://sip.example/Tea,${url},5,2025-03-09T07:15:00.000Z,"hot, green",No,0,$0.00\nsip.example/x,${url},0,2025-03-09T07:15:00.000Z,,No,1,$10.00`,
    rows: [
      { line: 2, addresses: ['sip.example/Tea'], fields: { url, tags: 'hot,green', archived: 'false' }, clicks: 5 },
      { line: 3, addresses: ['sip.example/x'], fields: { url, archived: 'false' }, clicks: 0, losses: ['tracking'] },
    ],
  },
  {
    title: 'Dub, JSON',
    source: 'dub',
    file: JSON.stringify([
      {
        domain: 'sip.example',
        key: 'Tea',
        url,
        title: 'Green',
        comments: 'First\nSecond',
        tags: [{ id: 'tag_1', name: 'hot', color: 'red' }],
        createdAt: created_at,
        expiresAt: '2027-01-01T00:00:00.000Z',
        expiredUrl: 'https://tea.example/over',
        archived: true,
        password: 'secret',
        clicks: 5,
        geo: { AT: 'https://tea.example/at' },
        ios: null,
        proxy: true,
        rewrite: true,
        leads: 0,
        saleAmount: 12,
      },
      { domain: 'sip.example', key: '_root', url, createdAt: created_at, geo: null, proxy: false, rewrite: false },
    ]),
    rows: [
      {
        addresses: ['sip.example/Tea'],
        host: 'sip.example',
        fields: {
          url,
          title: 'Green',
          notes: 'First\nSecond',
          tags: 'hot',
          active_period_end_at: '2027-01-01T00:00:00.000Z',
          expiration_url: 'https://tea.example/over',
          redirect_password: 'secret',
          archived: 'true',
        },
        clicks: 5,
        losses: ['rules', 'tracking', 'preview_card', 'cloaking'],
      },
      { addresses: ['sip.example/'], host: 'sip.example' },
    ],
  },
  {
    title: 'Rebrandly, CSV without short URLs',
    source: 'rebrandly',
    file: `slashtag,destination,Domain,Title,Clicks,tags\nTea,${url},sip.example,Green,"1,000","hot,green"`,
    rows: [
      {
        line: 2,
        addresses: ['sip.example/Tea'],
        host: 'sip.example',
        fields: { url, title: 'Green', tags: 'hot,green' },
        created_at: null,
        clicks: 1000,
        losses: ['created_at'],
      },
    ],
  },
  {
    title: 'Rebrandly, JSON',
    source: 'rebrandly',
    file: JSON.stringify([
      {
        id: 'a1',
        slashtag: 'Tea',
        destination: url,
        shortUrl: 'sip.example/Tea',
        title: 'Green',
        description: 'Note',
        domain: { id: 'd', fullName: 'sip.example' },
        createdAt: created_at,
        forwardParameters: true,
        tags: [{ name: 'hot' }],
        clicks: 2,
      },
      { slashtag: 'x', destination: url, shortUrl: '', domain: { fullName: 'sip.example' }, createdAt: created_at },
    ]),
    rows: [
      {
        addresses: ['sip.example/Tea'],
        host: 'sip.example',
        fields: { url, title: 'Green', notes: 'Note', tags: 'hot', forward_query: 'true' },
        clicks: 2,
      },
      { addresses: ['sip.example/x'], host: 'sip.example' },
    ],
  },
  {
    title: 'Short.io, CSV with plural names, milliseconds and losses',
    source: 'short_io',
    file: `Short URLs,Original URLs,createdAt,expiresAt,skipQS,redirectType,hasPassword,integrationFB,cloaking,clicks\nhttps://sip.example/Tea,${url},1741504500000,1798761600000,false,307,true,123,true,8`,
    rows: [
      {
        line: 2,
        addresses: ['sip.example/Tea'],
        fields: {
          url,
          active_period_end_at: '2027-01-01T00:00:00.000Z',
          forward_query: 'true',
          redirect_status: '307',
        },
        clicks: 8,
        losses: ['password', 'tracking', 'cloaking'],
      },
    ],
  },
  {
    title: 'Short.io, JSON',
    source: 'short_io',
    file: JSON.stringify({
      count: 1,
      links: [
        {
          originalURL: url,
          path: 'Tea',
          shortURL: 'https://sip.example/Tea',
          createdAt: '2025-03-09T07:15:00.000Z',
          expiresAt: 1798761600000,
          expiredURL: 'https://tea.example/over',
          clicksLimit: 10,
          archived: true,
          skipQS: true,
          redirectType: 303,
          splitURL: 'https://tea.example/b',
          integrationGA: '',
          integrationGTM: 'GTM-1',
          tags: ['hot'],
        },
      ],
    }),
    rows: [
      {
        addresses: ['sip.example/Tea'],
        fields: {
          url,
          tags: 'hot',
          active_period_end_at: '2027-01-01T00:00:00.000Z',
          expiration_url: 'https://tea.example/over',
          clicks_limit: '10',
          archived: 'true',
        },
        losses: ['rules', 'tracking'],
      },
    ],
  },
  {
    title: 'csv, the upload template of Bitly',
    source: 'csv',
    file: `Long URL,Domain,Backhalf,Title\n${url},sip.example,Tea,Green`,
    rows: [
      {
        line: 2,
        addresses: ['sip.example/Tea'],
        host: 'sip.example',
        fields: { url, title: 'Green' },
        created_at: null,
        losses: ['created_at'],
      },
    ],
  },
  {
    title: 'csv, an export of Waymark as JSON lines',
    source: 'csv',
    file: `${JSON.stringify({
      id: 1,
      domain_id: 2,
      alias: 'Tea',
      short_url: 'https://sip.example/Tea',
      url,
      title: null,
      status: 'active',
      rules: [{ name: 'at', countries: ['AT'], url }],
      has_redirect_password: true,
      tags: ['hot', 'green'],
      clicks: 3,
      created_at,
    })}\n`,
    rows: [
      {
        addresses: ['sip.example/Tea'],
        fields: { url, title: '', tags: 'hot,green', rules: JSON.stringify([{ name: 'at', countries: ['AT'], url }]) },
        clicks: 3,
        losses: ['password'],
      },
    ],
  },
]
