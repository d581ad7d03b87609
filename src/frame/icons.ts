import { Html } from '../http/html.ts'

/** SVG paths by name, for a square of 16 px with lines of 1.5 px. */
const drawings = {
  overview: '<path d="M2 13.5h12M4 11V8M8 11V3.5M12 11V6"/>',
  links:
    '<path d="M6.5 9.5l3-3M7 4.5l1.3-1.3a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5l-1.3 1.3a3.2 3.2 0 0 1-4.5-4.5L4.5 7"/>',
  domains: '<circle cx="8" cy="8" r="6"/><path d="M2 8h12M8 2c4 4 4 8 0 12M8 2c-4 4-4 8 0 12"/>',
  spaces: '<path d="M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3"/>',
  tags: '<path d="M2.5 2.5H8l5.5 5.5L8 13.5 2.5 8zM5.5 5.5v.1"/>',
  archive: '<path d="M2 3h12v3H2zM3.5 6v7.5h9V6M6.5 9h3"/>',
  unarchive: '<path d="M2 3h12v3H2zM3.5 6v7.5h9V6M8 12V8.5M6.5 10L8 8.5 9.5 10"/>',
  qr: '<path d="M2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM2.5 9.5h4v4h-4zM9.5 9.5h1.5v1.5M13.5 9.5v1.5M9.5 13.5h1.5M13.5 13.5h.1"/>',
  history: '<path d="M2.5 2.5v3h3M2.7 5.5a6 6 0 1 1-.6 3.5M8 5v3.5l2.5 1.5"/>',
  keys: '<circle cx="5" cy="11" r="3"/><path d="M7.2 8.8L13.5 2.5M11 5l2 2"/>',
  account:
    '<path d="M2.5 4.5h6.5M12.5 4.5h1M2.5 11.5h1M7 11.5h6.5"/><circle cx="10.75" cy="4.5" r="1.75"/><circle cx="5.25" cy="11.5" r="1.75"/>',
  people:
    '<circle cx="6" cy="5.5" r="2.5"/><path d="M1.5 13.5a4.5 4.5 0 0 1 9 0M10.5 3.2a2.5 2.5 0 0 1 0 4.6M12 9.6a4.5 4.5 0 0 1 2.5 3.9"/>',
  person: '<circle cx="8" cy="5.5" r="3"/><path d="M2.5 14a5.5 5.5 0 0 1 11 0"/>',
  keyboard: '<rect x="1.5" y="4" width="13" height="8" rx="1.5"/><path d="M4.5 7v.1M8 7v.1M11.5 7v.1M5.5 9.5h5"/>',
  leave: '<path d="M6.5 13.5h-3a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1h3M10.5 11L13.5 8l-3-3M13.5 8h-7"/>',
  docs: '<path d="M3.5 2.5h7a2 2 0 0 1 2 2v9h-7a2 2 0 0 1-2-2zM6 6h4M6 9h3"/>',
  operations: '<path d="M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5"/>',
  about: '<circle cx="8" cy="8" r="6"/><path d="M8 7.5V11M8 5v.1"/>',
  plus: '<path d="M8 3v10M3 8h10"/>',
  copy: '<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M10.5 5.5V4A1.5 1.5 0 0 0 9 2.5H4A1.5 1.5 0 0 0 2.5 4v5A1.5 1.5 0 0 0 4 10.5h1.5"/>',
  open: '<path d="M9 2.5h4.5V7M13.5 2.5L7.5 8.5M6.5 3.5h-3a1 1 0 0 0-1 1v8a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1v-3"/>',
  done: '<path d="M3 8.5l3.5 3.5L13 4.5"/>',
  search: '<circle cx="7" cy="7" r="4.5"/><path d="M10.5 10.5l3 3"/>',
  warning: '<path d="M8 2.5l6 11H2zM8 6.5v3M8 11.5v.1"/>',
  menu: '<circle cx="3" cy="8" r=".5"/><circle cx="8" cy="8" r=".5"/><circle cx="13" cy="8" r=".5"/>',
  bars: '<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11"/>',
  chevron: '<path d="M6 3.5L10.5 8 6 12.5"/>',
  before: '<path d="M10 3.5L5.5 8l4.5 4.5"/>',
  first: '<path d="M12 3.5L7.5 8l4.5 4.5M4 3.5v9"/>',
  last: '<path d="M4 3.5L8.5 8 4 12.5M12 3.5v9"/>',
  up: '<path d="M8 13V3M4 7l4-4 4 4"/>',
  down: '<path d="M8 3v10M4 9l4 4 4-4"/>',
  clock: '<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.5 1.5"/>',
  off: '<circle cx="8" cy="8" r="6"/><path d="M4 4l8 8"/>',
  remove: '<path d="M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.5 9h7l.5-9"/>',
  edit: '<path d="M3 13l.5-3L11 2.5 13.5 5 6 12.5zM9.5 4L12 6.5"/>',
  system: '<rect x="2" y="3" width="12" height="8" rx="1.5"/><path d="M6 14h4M8 3v8"/>',
  light:
    '<circle cx="8" cy="8" r="3"/><path d="M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7"/>',
  dark: '<path d="M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z"/>',
}

export type IconName = keyof typeof drawings

/** Renders the drawings of all icons, once per page. */
export const iconSheet = new Html(
  `<svg class="icon-sheet" aria-hidden="true">${Object.entries(drawings)
    .map(([name, drawing]) => `<symbol id="icon-${name}" viewBox="0 0 16 16">${drawing}</symbol>`)
    .join('')}</svg>`,
)

/** Renders an icon in the text color. Screen readers skip it, so text must accompany it. */
export function icon(name: IconName, className = ''): Html {
  const classes = className === '' ? 'icon' : `icon ${className}`
  return new Html(`<svg class="${classes}" aria-hidden="true"><use href="#icon-${name}"/></svg>`)
}
