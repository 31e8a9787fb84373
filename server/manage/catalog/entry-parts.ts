import type { HookCondition, HookVariable, IncomingHookBody } from '#model/hooks/schemas.ts'
import type { CatalogField, Sender } from './schemas.ts'

// What the entries of the catalog are written with.

export const text = (name: string, path: string, required = true): HookVariable => ({
  name,
  path,
  type: 'string',
  required,
})
export const is = (path: string, ...accepted_values: unknown[]): HookCondition => ({ path, accepted_values })
export const when = (...conditions: HookCondition[]) => ({ conditions })
export const signed = (secret_header_name: string) => ({ requires_secret: true, secret_header_name })
/** With a secret of the sender. */
export const signedByOwn = (header: string) => ({ ...signed(header), secret: '<secret>' })

const OPTIONAL = { required: false, default_value: null, example: null, hidden: false }

export type FieldParts = [label: string, description: string, more: Partial<CatalogField>]

export function field(name: string, ...[label, description, more]: FieldParts): CatalogField {
  return { name, label, description, ...OPTIONAL, ...more }
}

/** Required, with a value to suggest. */
export const suggested = (name: string, label: string, description: string, default_value: string) =>
  field(name, label, description, { required: true, default_value })

export const branch = suggested('branch', 'Branch', 'Pushes to this branch start the pipeline.', 'main')

/** For senders that show their own secret. */
export const secret = (where: string, example: string) =>
  field('secret', 'Secret', `${where} It can be set later; until then, calls are rejected.`, {
    example,
    hidden: true,
  })

export type SenderParts = Pick<Sender, 'description' | 'instructions'> &
  Partial<Pick<Sender, 'events' | 'fields'>> & { hook: Omit<IncomingHookBody, 'name'>; hookName?: string }

/** The hook says where the secret comes from, and has the name of the sender unless it has another one. */
export function sender(code: string, name: string, parts: SenderParts): Sender {
  const { description, events = [], instructions, fields = [], hook, hookName = name } = parts
  const fromGantry = hook.requires_secret ? 'gantry' : null
  const secret_source = hook.secret === undefined ? fromGantry : 'sender'
  const entry = { code, name, description, events, secret_source, instructions, fields } as const
  return { ...entry, hook: { name: hookName, ...hook } }
}

/** One step per line. */
export const steps = (...lines: string[]) => lines.join('\n')
