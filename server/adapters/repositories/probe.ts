import { findConnectProblem, prepareAccess, type Timeouts, type Token } from './access.ts'
import type { Provider, Remote } from './address.ts'
import type { RemoteVerdict } from './contact.ts'
import { credentialFits } from './credential-fits.ts'
import { explainFetch } from './failures.ts'
import { GitMissingError, readGit } from './git.ts'

export type ProbeRequest = {
  repository: string
  provider: Provider
  token: Token | null
  sshKey: string | null
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
  const addresses = verdict.addresses ?? []
  const problem = await findConnectProblem(remote, { addresses, withinMs, signal })
  if (problem !== undefined) return closed(problem)
  const timeouts: Timeouts = { connectMs: withinMs, idleMs: withinMs, totalMs: withinMs }
  // Nothing is fetched, so any key of an SSH host is accepted, and not stored.
  const access = await prepareAccess({ remote, token, sshKey, addresses, knownHosts: '/dev/null', timeouts })
  try {
    const { code, output, errors } = await readGit({
      args: ['ls-remote', '--heads', '--tags', '--refs', '--end-of-options', remote.address],
      repository: '/nonexistent',
      environment: access.environment,
      signal,
    })
    if (code === 0) return { kind: 'opened', references: output.split('\n').filter(Boolean).length }
    const context = { remote, hasCredential: true, hidden: [token?.secret ?? ''] }
    return closed(explainFetch(errors, context).message)
  } finally {
    await access.release()
  }
}

const closed = (message: string): Probed => ({ kind: 'closed', message })
