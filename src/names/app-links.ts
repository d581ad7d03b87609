/** Files by which phones find the apps that open a domain's links. */

/** The file name for each field of a domain. */
export const appLinkFiles = {
  apple_app_site_association: 'apple-app-site-association',
  asset_links: 'assetlinks.json',
} as const

export type AppLinkField = keyof typeof appLinkFiles

/** The contents of a domain's files; null for unset files. */
export type AppLinks = Readonly<Record<AppLinkField, string | null>>

export const noAppLinks: AppLinks = { apple_app_site_association: null, asset_links: null }

export const appLinkFields = Object.keys(appLinkFiles) as AppLinkField[]

/** Returns the path of a field's file, without the first slash. */
export function appLinkPath(field: AppLinkField): string {
  return `.well-known/${appLinkFiles[field]}`
}

/** Returns whether a folded path, without the first slash, is reserved for files of apps: old iPhones look at the root, too. */
export function isAppLinkPath(path: string): boolean {
  return path.startsWith('.well-known/') || path === '.well-known' || path === appLinkFiles.apple_app_site_association
}

/** Returns the field with the file at a folded path, without the first slash; null if the path has no such file. */
export function appLinkFieldAt(path: string): AppLinkField | null {
  if (path === appLinkFiles.apple_app_site_association) return 'apple_app_site_association'
  return appLinkFields.find((field) => appLinkPath(field) === path) ?? null
}
