import { PUBLIC_HOSTS } from '#adapters/repositories/address.ts'
import { credentialFits } from '#adapters/repositories/credential-fits.ts'
import { apiBase } from '#model/hooks/presets/api-base.ts'
import { HOSTS, type HostProvider, isHostProvider } from './hosts.ts'

// Where the repository of an application is, for its host's API. Pure.

export type HostedRepository = {
  provider: HostProvider
  /** Of the API, without a slash at the end. */
  apiUrl: string
  /** Of the pages. */
  homeUrl: string
  /** Like `acme/shop`. */
  path: string
}

export type SourceCredential = { provider: string; baseUrl: string | null; hasToken: boolean }

/** The repository, or why its host cannot be asked about it. */
export function locateRepository(
  repository: string | null,
  credential: SourceCredential | null,
): HostedRepository | { problem: string } {
  if (repository === null) return { problem: 'The pipeline does not belong to an application.' }
  if (!credential?.hasToken || !isHostProvider(credential.provider)) return { problem: NO_CREDENTIAL }
  const { provider, baseUrl } = credential
  const fit = credentialFits(provider, baseUrl, repository)
  if (fit.kind === 'unfit') return { problem: fit.message }
  const home = (baseUrl ?? PUBLIC_HOSTS[provider] ?? '').replace(/\/+$/, '')
  const path = pathBelow(new URL(home).pathname, fit.remote.path)
  if (!/^[^/]+(\/[^/]+)+$/.test(path)) return { problem: `${repository} names no repository.` }
  return { provider, apiUrl: apiBase({ provider, baseUrl }) + HOSTS[provider].root, homeUrl: home, path }
}

const NO_CREDENTIAL = "The application's credential must be a token of GitHub, GitLab or Gitea (Forgejo)."

/** Without the folder that the host's pages are in, and without `.git`. */
function pathBelow(folder: string, path: string): string {
  const prefix = folder.replace(/\/*$/, '/')
  const below = path.startsWith(prefix) ? path.slice(prefix.length) : path
  return decodeURIComponent(below)
    .replace(/^\/+|\/+$/g, '')
    .replace(/\.git$/, '')
}
