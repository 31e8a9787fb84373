import { type Provider, PUBLIC_HOSTS, type Remote, readAddress } from './address.ts'

// Which repositories a credential is for. A token is a secret of one host: sent to another, it would leak to anyone
// who may edit an application. An SSH key only signs, so it may be used anywhere.

const CHAT: ReadonlySet<string> = new Set(['slack', 'discord'])

type Unfit = { kind: 'unfit'; message: string }

/** Checked when an application is saved: could this credential ever give access to that repository? */
export function credentialFits(
  provider: string,
  baseUrl: string | null,
  repository: string,
): { kind: 'fits'; remote: Remote } | Unfit {
  if (CHAT.has(provider)) return unfit('A credential of a chat service gives no access to repositories.')
  const read = readAddress(repository, { code: provider, baseUrl })
  if (read.kind === 'refused') return unfit(read.message)
  const { remote } = read
  if (remote.protocol === 'file') return unfit('A repository on this machine needs no credential.')
  if (provider === 'ssh' && remote.protocol !== 'ssh')
    return unfit('An SSH key works with addresses like git@host:owner/name.git; this one needs a token.')
  if (provider !== 'ssh' && remote.protocol === 'ssh')
    return unfit('A token works with addresses that begin with https://; this one needs an SSH key.')
  const problem = provider === 'ssh' ? undefined : tokenProblem({ code: provider, baseUrl }, remote)
  return problem === undefined ? { kind: 'fits', remote } : unfit(problem)
}

/** Why a token of this provider must not be sent to where a remote is: only its own origin may receive it. */
export function tokenProblem({ code, baseUrl }: Provider, remote: Remote): string | undefined {
  const home = URL.parse(baseUrl ?? PUBLIC_HOSTS[code] ?? '')?.origin
  if (home === undefined) return 'The credential does not specify the host of its token: set its base_url.'
  const { origin } = new URL(remote.address)
  return origin === home
    ? undefined
    : `The credential is for ${home}, not for ${origin}: its token is not sent there.`
}

const unfit = (message: string): Unfit => ({ kind: 'unfit', message })
