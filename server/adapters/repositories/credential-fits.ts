import { type Provider, PUBLIC_HOSTS, type Remote, readAddress } from './address.ts'

// Which repositories a credential is for. A token is a secret of one host: sent to another, it would be lost to
// whoever may edit an application. An SSH key is only ever signed with, so it may be tried anywhere.

export type Fit = { kind: 'fits' } | { kind: 'unfit'; message: string }

/** For whoever saves an application: could this credential ever open that repository? Pure. */
export function credentialFits(provider: string, baseUrl: string | null, repository: string): Fit {
  const read = readAddress(repository, { code: provider, baseUrl })
  if (read.kind === 'refused') return unfit(read.message)
  const { remote } = read
  if (remote.protocol === 'file') return unfit('A repository on this machine is read without a credential.')
  if (provider === 'ssh') {
    return remote.protocol === 'ssh'
      ? { kind: 'fits' }
      : unfit('An SSH key opens addresses such as git@host:owner/name.git; this one needs a token.')
  }
  if (remote.protocol === 'ssh') {
    return unfit('A token opens addresses that begin with https://; this one needs an SSH key.')
  }
  return tokenFits({ code: provider, baseUrl }, remote)
}

/** Whether a token of this provider may be sent to where a remote is. */
export function tokenFits(provider: Provider, remote: Remote): Fit {
  const home = homeOf(provider)
  if (home === undefined) {
    return unfit('The credential does not say which host its token is for: give it a base_url.')
  }
  const place = new URL(remote.address)
  if (place.origin === home) return { kind: 'fits' }
  return unfit(`The credential is for ${home}, not for ${place.origin}: its token is not sent there.`)
}

/** The one origin that may see the token. */
function homeOf({ code, baseUrl }: Provider): string | undefined {
  const base = baseUrl ?? PUBLIC_HOSTS[code]
  return base !== undefined && URL.canParse(base) ? new URL(base).origin : undefined
}

function unfit(message: string): Fit {
  return { kind: 'unfit', message }
}
