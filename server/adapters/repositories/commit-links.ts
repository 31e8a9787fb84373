import { inBrackets, type Provider, type Remote } from './address.ts'

// Web links to a commit, derived from the address alone.

export type CommitLinks = { url: string | null; clone_url: string | null; download_url: string | null }

type Forge = 'github' | 'gitlab' | 'bitbucket' | 'gitea'

const HOSTS: Record<string, Forge> = {
  'github.com': 'github',
  'gitlab.com': 'gitlab',
  'bitbucket.org': 'bitbucket',
  'codeberg.org': 'gitea',
  'gitea.com': 'gitea',
}

/** SSH over port 443: another name for the same host. */
const SSH_HOSTS: Record<string, string> = {
  'ssh.github.com': 'github.com',
  'altssh.gitlab.com': 'gitlab.com',
  'altssh.bitbucket.org': 'bitbucket.org',
}

/** Providers, and labels of self-hosted forges: gitlab.example.com. */
const LABELS: Record<string, Forge> = { github: 'github', gitlab: 'gitlab', gitea: 'gitea', forgejo: 'gitea' }

/** The credential's provider first, then the host's name. Undefined: any git server. */
function forgeOf(remote: Remote, provider: Provider | null): Forge | undefined {
  if (remote.host === null) return undefined
  const host = webHost(remote.host)
  // A self-hosted Bitbucket has other URLs than bitbucket.org, and is treated as any git server.
  const labels = [provider?.code ?? '', ...host.split('.').slice(0, -1)]
  return HOSTS[host] ?? labels.map((label) => LABELS[label]).find((forge) => forge !== undefined)
}

export function linkCommit(remote: Remote, provider: Provider | null, hash: string): CommitLinks {
  const forge = forgeOf(remote, provider)
  const parts = pathParts(remote)
  if (!forge || parts.length < 2) {
    // A folder of this machine is no URL for others.
    return { url: null, clone_url: remote.protocol === 'file' ? null : remote.address, download_url: null }
  }
  const home = `${webOrigin(remote)}/${parts.join('/')}`
  return { clone_url: `${home}.git`, ...pages(forge, home, parts.at(-1)!, hash) }
}

function pages(forge: Forge, home: string, name: string, hash: string) {
  const link = (page: string, archive: string) => ({
    url: `${home}/${page}/${hash}`,
    download_url: `${home}/${archive}`,
  })
  if (forge === 'gitlab') return link('-/commit', `-/archive/${hash}/${name}-${hash}.tar.gz`)
  if (forge === 'bitbucket') return link('commits', `get/${hash}.tar.gz`)
  return link('commit', `archive/${hash}.tar.gz`)
}

function pathParts(remote: Remote): string[] {
  const isUrl = remote.address.includes('://')
  const parts = remote.path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => (isUrl ? part : encodeURIComponent(part)))
  const name = parts.at(-1)?.replace(/\.git$/, '')
  return name ? [...parts.slice(0, -1), name] : parts.slice(0, -1)
}

function webOrigin(remote: Remote): string {
  if (remote.protocol !== 'ssh') return new URL(remote.address).origin
  return `https://${inBrackets(webHost(remote.host!))}`
}

function webHost(host: string): string {
  return SSH_HOSTS[host] ?? host
}
