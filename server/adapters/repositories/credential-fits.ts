import { type Provider, PUBLIC_HOSTS, type Remote, readAddress } from './address.ts'

// Which repositories a credential is for. A token is a secret of one host: sent to another, it would leak to anyone
// who may edit an application. An SSH key only signs, so it may be used anywhere.

export type Fit = { kind: 'fits' } | { kind: 'unfit'; message: string }

/** Checked when an application is saved: could this credential ever give access to that repository? */
export function credentialFits(provider: string, baseUrl: string | null, repository: string): Fit {
  const read = readAddress(repository, { code: provider, baseUrl })
  if (read.kind === 'refused') return unfit(read.message)
  const { remote } = read
  if (remote.protocol === 'file') return unfit('A repository on this machine needs no credential.')
  if (provider === 'ssh') {
    return remote.protocol === 'ssh'
      ? { kind: 'fits' }
      : unfit('An SSH key works with addresses like git@host:owner/name.git; this one needs a token.')
  }
  if (remote.protocol === 'ssh') {
    return unfit('A token works with addresses that begin with https://; this one needs an SSH key.')
  }
  return tokenFits({ code: provider, baseUrl }, remote)
}

/** Whether a token of this provider may be sent to where a remote is. */
export function tokenFits(provider: Provider, remote: Remote): Fit {
  const home = homeOf(provider)
  if (home === undefined) {
    return unfit('The credential does not specify the host of its token: set its base_url.')
  }
  const { origin } = new URL(remote.address)
  if (origin === home) return { kind: 'fits' }
  return unfit(`The credential is for ${home}, not for ${origin}: its token is not sent there.`)
}

/** The only origin that may receive the token. */
function homeOf({ code, baseUrl }: Provider): string | undefined {
  const base = baseUrl ?? PUBLIC_HOSTS[code]
  return base !== undefined && URL.canParse(base) ? new URL(base).origin : undefined
}

function unfit(message: string): Fit {
  return { kind: 'unfit', message }
}
