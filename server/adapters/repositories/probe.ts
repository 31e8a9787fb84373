import type { Login } from './access.ts'
import type { Provider, Remote } from './address.ts'
import { contactRemote, type RemoteVerdict } from './contact.ts'
import { credentialFits } from './credential-fits.ts'
import { explainFetch } from './failures.ts'
import { GitMissingError, readGit } from './git.ts'

export type ProbeRequest = Login & {
  repository: string
  provider: Provider
  /** Called before the remote is contacted. */
  allowRemote(remote: Remote): Promise<RemoteVerdict>
  /** For everything together. */
  withinMs: number
}

export type Probed =
  /** How many branches and tags the remote shows. */
  | { kind: 'opened'; references: number }
  | { kind: 'closed'; message: string }
  /** The request itself is invalid. */
  | { kind: 'unfit'; message: string }

/** Whether a credential gives access to a repository: lists its branches and tags, and stores nothing. */
export async function probeRepository(request: ProbeRequest): Promise<Probed> {
  const { provider, repository } = request
  const fit = credentialFits(provider.code, provider.baseUrl ?? null, repository)
  if (fit.kind === 'unfit') return fit
  const deadline = AbortSignal.timeout(request.withinMs)
  try {
    return await listReferences(request, fit.remote, deadline)
  } catch (error) {
    if (deadline.aborted) return closed(`${fit.remote.host} did not answer in time.`)
    if (error instanceof GitMissingError) return closed(error.message)
    throw error
  }
}

async function listReferences(request: ProbeRequest, remote: Remote, signal: AbortSignal): Promise<Probed> {
  const { token, sshKey, withinMs } = request
  const verdict = await request.allowRemote(remote)
  if (verdict.kind !== 'allowed') return closed(verdict.message)
  const { addresses = [] } = verdict
  const timeouts = { connectMs: withinMs, idleMs: withinMs, totalMs: withinMs }
  // Nothing is fetched, so any key of an SSH host is accepted, and not stored.
  const nothingStored = { knownHosts: '/dev/null', folder: '' }
  const contact = {
    remote,
    login: { token, sshKey },
    addresses,
    timeouts,
    signal,
    ...nothingStored,
    onLine() {},
  }
  const outcome = await contactRemote(contact, async (fetch): Promise<Probed> => {
    const args = ['ls-remote', '--heads', '--tags', '--refs', '--end-of-options', remote.address]
    const { code, output, errors } = await readGit({ ...fetch, args, repository: '/nonexistent' })
    if (code === 0) return { kind: 'opened', references: output.split('\n').filter(Boolean).length }
    return closed(explainFetch(errors, { ...fetch, hasCredential: true }).message)
  })
  return outcome.kind === 'unconnected' ? closed(outcome.message) : outcome
}

const closed = (message: string): Probed => ({ kind: 'closed', message })
