export type LinkPage = 'invitation' | 'reset-password'

/** Pure. The token is the fragment; earlier links to invitations have it in the path. */
export function readLink(pathname: string, hash: string): { page: LinkPage; token: string } | undefined {
  const [, page, inPath] = /^\/app\/(invitation|reset-password)(?:\/([^/]*))?\/?$/.exec(pathname) ?? []
  const token = hash.slice(1) || inPath
  if (!page || !token) return undefined
  return { page: page as LinkPage, token }
}
