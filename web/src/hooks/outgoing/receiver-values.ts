// A tile of the gallery → the hook to create. Pure.
import { type components, expandEntry } from '#client/index.ts'
import type { Receiver } from '../../api/types.ts'

/** `name`, and `fields.<name>` for each field of the receiver. */
export type ReceiverValues = { name: string } & Record<`fields.${string}`, string>

type NewOutgoingHook = components['schemas']['CreateOutgoingHookRequest']

const nameOf = (field: string) => `fields.${field}` as const

export function initialValues({ hook, fields }: Receiver): ReceiverValues {
  const entries = fields.map(({ name, default_value }) => [nameOf(name), default_value ?? ''])
  return { name: (hook as { name: string }).name, ...Object.fromEntries(entries) }
}

export function hiddenFields({ fields }: Receiver) {
  return fields.filter(({ hidden }) => hidden).map(({ name }) => nameOf(name))
}

export function validateReceiver({ fields }: Receiver, values: ReceiverValues) {
  const missing = fields.filter(({ name, required }) => required && values[nameOf(name)]?.trim() === '')
  return {
    name: values.name.trim() === '' ? 'Enter a name.' : null,
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
  return { ...made, name: values.name.trim() }
}

/** The input for an error of the API: the field that the rejected property is made of. */
export function inputOf({ hook }: Receiver, field: string): keyof ReceiverValues | undefined {
  if (field === 'name') return 'name'
  const value = (hook as Record<string, unknown>)[field.split('.')[0]!]
  const placeholder = /<([a-z_]+)>/.exec(JSON.stringify(value ?? ''))?.[1]
  return placeholder === undefined ? undefined : nameOf(placeholder)
}
