import type { HttpClient } from '#adapters/http-client/client.ts'
import type { Login } from './access.ts'
import { authorizationOf } from './access.ts'
import { type Provider, type Remote, readAddress } from './address.ts'
import { contactRemote, type RemoteVerdict } from './contact.ts'
import { tokenProblem } from './credential-fits.ts'
import { explainFetch } from './failures.ts'
import { GitMissingError, readGit } from './git.ts'
import { lsRefsRequest, readLsRefs, readLsRemote } from './ls-refs.ts'
import { withSuffix } from './mirror.ts'
import { readSource } from './source.ts'

export type TipsRequest = Login & {
  repository: string
  provider: Provider | null
  branches: readonly string[]
  /** Called before the remote is contacted. */
  allowRemote: (remote: Remote) => Promise<RemoteVerdict>
  http: HttpClient
  /** The keys of SSH hosts that are known for this repository. */
  knownHosts: string
  /** For everything together. */
  withinMs: number
  signal: AbortSignal
}

/** How others ask for them. */
export type ReadTips = (
  applicationId: number,
  request: Pick<
    TipsRequest,
    'repository' | 'provider' | 'branches' | 'token' | 'sshKey' | 'withinMs' | 'signal'
  >,
) => Promise<Tips>

/** Branches that do not exist are not in it. Messages contain no secret. */
export type Tips = { kind: 'read'; tips: ReadonlyMap<string, string> } | { kind: 'failed'; message: string }

const MAX_BYTES = 1024 * 1024

/** The commits that branches point to. Nothing is fetched or stored. Throws the signal's reason when aborted. */
export async function readTips(request: TipsRequest): Promise<Tips> {
  const { repository, provider, token, signal } = request
  const read = readAddress(repository, provider)
  if (read.kind === 'refused') return failed(read.message)
  const { remote } = read
  const isWeb = remote.protocol.startsWith('http')
  const problem = token && provider && isWeb ? tokenProblem(provider, remote) : undefined
  if (problem !== undefined) return failed(problem)
  for (const branch of request.branches) {
    const source = readSource({ type: 'branch', ref: branch })
    if (source.kind === 'impossible') return failed(source.message)
  }
  const verdict = await request.allowRemote(remote)
  if (verdict.kind !== 'allowed') return failed(verdict.message)
  const deadline = AbortSignal.timeout(request.withinMs)
  const limited = { ...request, signal: AbortSignal.any([signal, deadline]) }
  try {
    // Git explains what the short way cannot: old servers, other names, missing permissions.
    const tips = isWeb ? await askHost(limited, remote) : null
    return tips ? { kind: 'read', tips } : await askGit(limited, remote, verdict.addresses ?? [])
  } catch (error) {
    signal.throwIfAborted()
    if (deadline.aborted) return failed(`${remote.host} did not answer in time.`)
    if (error instanceof GitMissingError) return failed(error.message)
    throw error
  }
}

async function askHost(request: TipsRequest, remote: Remote): Promise<ReadonlyMap<string, string> | null> {
  const address = withSuffix(remote) ?? remote.address.replace(/\/+$/, '')
  const authorization = request.token && authorizationOf(remote, request.token)
  const outcome = await request.http.send(
    {
      method: 'POST',
      url: `${address}/git-upload-pack`,
      headers: {
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
        'git-protocol': 'version=2',
        ...(authorization && { authorization }),
      },
      body: lsRefsRequest(request.branches),
      timeoutMs: request.withinMs,
      maxBodyBytes: MAX_BYTES,
      verifySsl: true,
    },
    request.signal,
  )
  if (outcome.kind !== 'answered' || outcome.status !== 200 || outcome.body.length >= MAX_BYTES) return null
  return readLsRefs(outcome.body)
}

async function askGit(request: TipsRequest, remote: Remote, addresses: string[]): Promise<Tips> {
  const { token, sshKey, knownHosts, withinMs, signal, branches } = request
  const timeouts = { connectMs: withinMs, idleMs: withinMs, totalMs: withinMs }
  const contact = { remote, login: { token, sshKey }, addresses, timeouts, signal, knownHosts }
  const outcome = await contactRemote(
    { ...contact, folder: knownHosts, onLine() {} },
    async (fetch): Promise<Tips> => {
      const names = branches.map((branch) => `refs/heads/${branch}`)
      const args = ['ls-remote', '--heads', '--refs', '--end-of-options', remote.address, ...names]
      const { code, output, errors } = await readGit({ ...fetch, args, repository: '/nonexistent' })
      if (code === 0) return { kind: 'read', tips: readLsRemote(output) }
      return failed(explainFetch(errors, { ...fetch, hasCredential: fetch.hasCredential }).message)
    },
  )
  return outcome.kind === 'unconnected' ? failed(outcome.message) : outcome
}

const failed = (message: string): Tips => ({ kind: 'failed', message })
