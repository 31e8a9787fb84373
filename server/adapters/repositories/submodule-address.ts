import type { Login } from './access.ts'
import { inBrackets, type ReadAddress, type Remote, readAddress } from './address.ts'

// Where a submodule is, and which login it gets. The URL comes from `.gitmodules`, and so from everyone who can push: it
// never leads to a folder of this machine, and never takes the application's login to another host.

/** `parent` is the repository that contains the submodule, `own` that of the application. */
export function readSubmoduleUrl(url: string, parent: Remote, own: Remote): ReadAddress {
  const isRelative = /^\.\.?\//.test(url)
  if (isRelative && parent.protocol === 'file')
    return refused(`Its URL is relative to a folder on the machine that runs Gantry. ${ONLY}`)
  const address = isRelative ? resolveRelative(url, parent) : url
  if (address === undefined) return refused(`Its relative URL leads out of ${hostOf(parent)}.`)
  const read = readAddress(address)
  if (read.kind === 'refused') return /^(https?|ssh):\/\//i.test(address) ? read : refused(ONLY)
  const { protocol } = read.remote
  if (protocol === 'file') return refused(ONLY)
  if (protocol === 'http' && own.protocol !== 'http') return refused(`Its URL begins with http://. ${ONLY}`)
  return read
}

const ONLY = 'Submodules are fetched over https and ssh only.'

/** As git does it: the URL of the parent is the folder that `./` means. Undefined when it leads above the host. */
function resolveRelative(url: string, { address, path }: Remote): string | undefined {
  const folders = path.split('/').filter((part) => part !== '')
  let rest = url
  for (let step = /^\.\.?\/+/.exec(rest); step; step = /^\.\.?\/+/.exec(rest)) {
    if (rest.startsWith('..') && folders.pop() === undefined) return undefined
    rest = rest.slice(step[0].length)
  }
  const parts = rest.split('/').filter((part) => part !== '')
  if (parts.includes('..')) return undefined
  const head = address.slice(0, address.length - path.length)
  return `${head}${path.startsWith('/') ? '/' : ''}${[...folders, ...parts].join('/')}`
}

/** The login of the application goes to its own host only: same protocol, name and port. */
export function loginFor(
  remote: Remote,
  own: Remote,
  login: Login,
): { kind: 'login'; login: Login } | { kind: 'refused'; message: string } {
  if (isSameHost(remote, own)) return { kind: 'login', login }
  if (remote.protocol !== 'ssh') return { kind: 'login', login: { token: null, sshKey: null } }
  const hint =
    own.protocol === 'ssh'
      ? `the application's credential is only for ${hostOf(own)}`
      : `the application's repository is not fetched over ssh`
  return refused(
    `${hostOf(remote)} requires an SSH key, and ${hint}. Use an https URL, or one relative to the repository, such as ../lib.git.`,
  )
}

export function isSameHost(one: Remote, other: Remote): boolean {
  return one.protocol === other.protocol && one.host === other.host && one.port === other.port
}

const USUAL_PORTS: Readonly<Record<string, number>> = { https: 443, http: 80, ssh: 22 }

/** For people: with its port, unless it is the usual one. */
export function hostOf({ protocol, host, port }: Remote): string {
  if (host === null) return 'this machine'
  return port === USUAL_PORTS[protocol] ? host : `${inBrackets(host)}:${port}`
}

const refused = (message: string) => ({ kind: 'refused' as const, message })
