import {
  inBrackets,
  type Provider,
  PUBLIC_HOSTS,
  type Remote,
  readAddress,
} from '#adapters/repositories/address.ts'
import type { TokenOwner } from './presets/api-base.ts'
import { isAboutCommits, type Preset } from './presets/schema.ts'

// Whether a preset that reports on commits may do so with the token of a credential: an address says which repository that
// is only together with its host, and `acme/shop` of another host is another repository. Pure.

/** The repository of an application, and the credential that it is fetched with. */
export type Source = { repository: string; provider: Provider | null }

/** A credential, as far as it decides which repositories its token may report on. */
export type StatusOwner = TokenOwner & { sshHosts: readonly string[] }

/** Other names that providers have for their hosts, so that SSH passes firewalls. */
const ALIASES: Readonly<Record<string, string>> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
}

/** Why a hook with this preset must not send; undefined when it may. */
export function repositoryProblem(
  preset: Preset,
  owner: StatusOwner,
  { repository, provider }: Source,
): string | undefined {
  // Such a preset names the project itself.
  if (!isAboutCommits(preset.kind) || preset.project !== undefined) return undefined
  const read = readAddress(repository, provider)
  const remote = read.kind === 'remote' ? read.remote : null
  if (!remote || remote.host === null)
    return `${ABOUT}, whose address names no host: ${owner.provider} does not know it`
  const home = homeOf(owner)
  if (home && (remote.protocol === 'ssh' ? home.hostname : home.host) === hostIn(remote)) return undefined
  if (namesOf(remote).some((name) => owner.sshHosts.includes(name))) return undefined
  const host = hostIn(remote)
  return `${ABOUT}, which is at ${host}; the credential is for ${home?.host ?? 'no host'}. If both are the same service, add ${host} to ssh_hosts of the credential`
}

const ABOUT = "reports on commits of the application's repository"

/** As entries of `ssh_hosts` name it. */
function namesOf({ host, port }: Remote): string[] {
  const name = inBrackets(plain(host!))
  return [name, `${name}:${port}`]
}

/** With its port, unless that is the default one, or that of SSH, which says nothing about the web. */
function hostIn({ protocol, host, port }: Remote): string {
  const name = plain(host!)
  const known = ALIASES[name] ?? inBrackets(name)
  const isDefault = protocol === 'ssh' || port === (protocol === 'https' ? 443 : 80)
  return isDefault ? known : `${known}:${port}`
}

/** Where the repositories of a credential are. GitHub's API may be its base_url, and is on another host. */
function homeOf({ provider, baseUrl }: TokenOwner): URL | null {
  const url = URL.parse(baseUrl ?? PUBLIC_HOSTS[provider] ?? '')
  if (url && provider === 'github' && /^api\.(github\.com|[^.]+\.ghe\.com)$/.test(url.hostname))
    url.hostname = url.hostname.slice('api.'.length)
  return url
}

const plain = (host: string) => host.replace(/\.$/, '')
