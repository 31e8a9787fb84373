// A tile of the gallery → the hook to create. Pure.
import { type components, expandEntry } from '#client/index.ts'
import type { Receiver } from '#web/base/api/types.ts'
import { isChat } from '#web/resources/credentials/credential-input.ts'

/** `name`, `credential_id` (empty: the application's own), and `fields.<name>` for each field of the receiver. */
export type ReceiverValues = { name: string; credential_id: string } & Record<`fields.${string}`, string>

type NewOutgoingHook = components['schemas']['CreateOutgoingHookRequest']

const nameOf = (field: string) => `fields.${field}` as const

export function initialValues({ hook, fields }: Receiver): ReceiverValues {
  const entries = fields.map(({ name, default_value }) => [nameOf(name), default_value ?? ''])
  return { name: (hook as { name: string }).name, credential_id: '', ...Object.fromEntries(entries) }
}

export function hiddenFields({ fields }: Receiver) {
  return fields.filter(({ hidden }) => hidden).map(({ name }) => nameOf(name))
}

type Credentialed = Pick<Receiver, 'uses_access_token' | 'credential_provider'>

/** Whether it reports on commits, which only pipelines of applications have. */
export function needsApplication({ uses_access_token, credential_provider }: Credentialed): boolean {
  return uses_access_token && !isChat(credential_provider ?? '')
}

/** Whether the application's own credential may do. `provider` is that of it; undefined if that is not known. */
export function takesOwnCredential(receiver: Credentialed, provider: string | null | undefined): boolean {
  if (!needsApplication(receiver)) return false
  return provider === undefined || provider === receiver.credential_provider
}

export function validateReceiver(receiver: Receiver, values: ReceiverValues, takesOwn: boolean) {
  const { fields, credential_provider } = receiver
  const missing = fields.filter(({ name, required }) => required && values[nameOf(name)]?.trim() === '')
  const needsCredential = credential_provider !== null && !takesOwn
  return {
    name: values.name.trim() === '' ? 'Enter a name.' : null,
    credential_id: needsCredential && values.credential_id === '' ? 'Select a credential.' : null,
    ...Object.fromEntries(missing.map(({ name, label }) => [nameOf(name), `${label} is missing.`])),
  }
}

/** The body of `POST /pipelines/{id}/hooks/outgoing`. */
export function hookOf({ hook, fields }: Receiver, values: ReceiverValues): NewOutgoingHook {
  const given = fields.flatMap(({ name }) => {
    const value = values[nameOf(name)]?.trim() ?? ''
    return value === '' ? [] : [[name, value]]
  })
  const made = expandEntry(hook as NewOutgoingHook, Object.fromEntries(given))
  return {
    ...made,
    name: values.name.trim(),
    ...(values.credential_id !== '' && { credential_id: Number(values.credential_id) }),
  }
}

/** The input for an error of the API: the only field that the rejected property is made of. */
export function inputOf({ hook }: Receiver, field: string): keyof ReceiverValues | undefined {
  if (field === 'name' || field === 'credential_id') return field
  const placeholders = new Set(JSON.stringify(partOf(hook, field)).match(/(?<=<)[a-z_]+(?=>)/g))
  const [only, ...others] = placeholders
  return only === undefined || others.length > 0 ? undefined : nameOf(only)
}

/** What is at this path, or at as much of it as there is. */
function partOf(hook: unknown, path: string): unknown {
  let part = hook
  for (const key of path.split('.')) {
    if (typeof part !== 'object' || part === null) break
    part = (part as Record<string, unknown>)[key]
  }
  return part ?? ''
}
