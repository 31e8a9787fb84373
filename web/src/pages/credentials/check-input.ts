// What a check of a credential asks for. Pure.
import type { components } from '#client/index.ts'
import type { Credential } from '#web/resources/credentials/credentials.ts'

type CheckBody = components['schemas']['CheckCredentialRequest']
export type CheckValues = {
  /** For an SSH key: `host`, `repository`, or the id of a server. */
  against: string
  repository: string
  host: string
  port: number | ''
  user: string
}

/** An SSH key is tried where it is used. */
export function newCheck({ provider, used_by }: Credential): CheckValues {
  const server = used_by.find(({ resource_type }) => resource_type === 'server')
  const against = provider.code !== 'ssh' ? 'repository' : server ? String(server.resource_id) : 'host'
  return { against, repository: '', host: '', port: 22, user: '' }
}

export function checkBody(values: CheckValues): CheckBody {
  const repository = values.repository.trim()
  if (values.against === 'repository') return repository === '' ? {} : { repository }
  if (values.against !== 'host') return { server_id: Number(values.against) }
  return {
    host: values.host.trim(),
    user: values.user.trim(),
    ...(values.port === '' ? {} : { port: values.port }),
  }
}

const DETAILS: Record<string, string> = {
  account: 'Account',
  status: 'Status',
  references: 'Branches and tags',
  host_key_fingerprint: 'Host key',
}

/** Further results, as rows of text. */
export function detailRows(details: Record<string, unknown>): { label: string; text: string }[] {
  return Object.entries(details).flatMap(([name, value]) => {
    const isShown = typeof value === 'string' || typeof value === 'number'
    return isShown ? [{ label: DETAILS[name] ?? name, text: String(value).slice(0, 500) }] : []
  })
}
