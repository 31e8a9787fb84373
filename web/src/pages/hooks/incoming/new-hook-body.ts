// What a tile and its fields send. Pure.
import { type components, expandEntry } from '#client/index.ts'
import type { IncomingHookBody } from './hook-values.ts'

export type Sender = components['schemas']['CatalogSender']

/** `name` is the hook's; the others are fields of the sender. */
export type SenderValues = { name: string } & Record<`field_${string}`, string>

export function initialValues({ hook, fields }: Sender): SenderValues {
  const given = fields.map(({ name, default_value }) => [`field_${name}`, default_value ?? ''])
  return { name: hook.name, ...Object.fromEntries(given) }
}

/** Secrets are never kept in a draft. */
export function hiddenFields({ fields }: Sender): string[] {
  return fields.filter(({ hidden }) => hidden).map(({ name }) => `field_${name}`)
}

export function fieldValues({ fields }: Sender, values: SenderValues): Record<string, string> {
  const given = fields.map(({ name }) => [name, values[`field_${name}`] ?? ''] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== ''))
}

export function newHookBody(sender: Sender, values: SenderValues): IncomingHookBody {
  return { ...(expandEntry(sender.hook, fieldValues(sender, values)) as IncomingHookBody), name: values.name }
}

/** Only what the hook cannot do without: the API checks the rest. */
export function missingFields({ fields }: Sender, values: SenderValues): Record<string, string> {
  const missing = fields.filter(({ name, required }) => required && !values[`field_${name}`]?.trim())
  return Object.fromEntries(missing.map(({ name, label }) => [`field_${name}`, `${label} is required.`]))
}

/** Its secret is the only field that the API knows by the name of an input. */
export function senderInputOf(field: string): string | undefined {
  return field === 'secret' ? 'field_secret' : undefined
}
