import { type Patience, prepareAccess, type Token } from './access.ts'
import { type Provider, type Remote, readAddress } from './address.ts'
import { credentialFits } from './credential-fits.ts'
import { explainFetch } from './failures.ts'
import { askGit, GitMissingError } from './git.ts'
import { findObstacle } from './reach.ts'
import type { RemoteVerdict } from './resolve.ts'

export type ProbeRequest = {
  repository: string
  provider: Provider
  token: Token | null
  sshKey: string | null
  /** Asked before the remote is contacted. */
  allowRemote(remote: Remote): Promise<RemoteVerdict>
  /** The whole of it. */
  withinMs: number
}

export type Probed =
  /** How many branches and tags the remote shows. */
  | { kind: 'opened'; references: number }
  | { kind: 'closed'; message: string }
  /** The wish itself is wrong. */
  | { kind: 'unfit'; message: string }

const NOWHERE = '/nonexistent'

/** Whether a credential opens a repository: lists its branches and tags, and keeps nothing. */
export async function probeRepository(wish: ProbeRequest): Promise<Probed> {
  const { provider, repository } = wish
  const fit = credentialFits(provider.code, provider.baseUrl ?? null, repository)
  if (fit.kind === 'unfit') return fit
  const read = readAddress(repository, provider)
  if (read.kind === 'refused') return { kind: 'unfit', message: read.message }
  const deadline = AbortSignal.timeout(wish.withinMs)
  try {
    return await ask(wish, read.remote, deadline)
  } catch (fault) {
    if (deadline.aborted) return closed(`${read.remote.host} does not answer in time.`)
    if (fault instanceof GitMissingError) return closed('The machine that runs Gantry has no git.')
    throw fault
  }
}

async function ask(wish: ProbeRequest, remote: Remote, signal: AbortSignal): Promise<Probed> {
  const { token, sshKey, withinMs } = wish
  const verdict = await wish.allowRemote(remote)
  if (verdict.kind !== 'allowed') return closed(verdict.message)
  const addresses = verdict.addresses ?? []
  const obstacle = await findObstacle(remote, { addresses, withinMs, signal })
  if (obstacle !== undefined) return closed(obstacle)
  const patience: Patience = { connectMs: withinMs, silentMs: withinMs, totalMs: withinMs }
  // Nothing is fetched, so whatever key an SSH host shows will do, and is forgotten.
  const access = await prepareAccess({ remote, token, sshKey, addresses, knownHosts: '/dev/null', patience })
  try {
    const { code, output, errors } = await askGit({
      args: ['ls-remote', '--heads', '--tags', '--refs', '--end-of-options', remote.address],
      repository: NOWHERE,
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

function closed(message: string): Probed {
  return { kind: 'closed', message }
}
