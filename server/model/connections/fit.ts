import { HOSTS, type HostProvider } from './hosts.ts'

/** How a hook verifies its calls. */
export type HookSignature = {
  requires_secret: boolean | null
  secret_algorithm: string | null
  secret_header_name: string | null
  scheme: string
}

/** Why calls of this host would be rejected; undefined when they would not. Pure. */
export function signatureMisfit(provider: HostProvider, hook: HookSignature): string | undefined {
  if (!hook.requires_secret) return 'Set requires_secret to true: only hooks with a secret can be connected.'
  const { name, signatureHeaders } = HOSTS[provider]
  const header = hook.secret_header_name ?? ''
  const known = signatureHeaders[header.toLowerCase()]
  const fits =
    known &&
    known.scheme === hook.scheme &&
    (known.algorithm === null || known.algorithm === hook.secret_algorithm)
  if (fits) return undefined
  const [first, rule] = Object.entries(signatureHeaders)[0]!
  const wanted =
    rule.scheme === 'token'
      ? `the secret in ${titled(first)} (scheme token)`
      : `${titled(first)} (scheme body, ${rule.algorithm})`
  return `${name} sends ${wanted}, which the hook does not expect: it reads ${header} (scheme ${hook.scheme}).`
}

const titled = (header: string) =>
  header.replace(/(^|-)([a-z])/g, (_, dash, letter) => dash + letter.toUpperCase())
